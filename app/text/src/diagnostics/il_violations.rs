//! Wording of violations of ECMA-335 in a method body.

use redial_protocol::diagnostics::{BodyPart, ClauseBound, IlViolation};

/// Words a violation.
pub fn sentence(violation: &IlViolation) -> String {
    match violation {
        IlViolation::Truncated { part } => {
            format!("the method body ends early: {} needs more bytes than there are", part_name(*part))
        }
        IlViolation::BadHeader { first } => {
            format!("the first byte {first:#04x} is neither a tiny nor a fat method header")
        }
        IlViolation::BadHeaderSize { words } => {
            format!("the fat header claims {words} words, fewer than the three it has")
        }
        IlViolation::NoCode => "the method body has no instructions".to_owned(),
        IlViolation::BadOpcode { value, offset } => {
            format!("there is no instruction {value:#06x} (at offset {offset})")
        }
        IlViolation::BadTarget { offset, target } => {
            format!("the branch at offset {offset} goes to {target}, where no instruction starts")
        }
        IlViolation::BadClauseBound { clause, bound, offset } => {
            let bound = bound_name(*bound);
            format!("exception clause {clause} has its {bound} at {offset}, where no instruction starts")
        }
        IlViolation::BadClauseKind { clause, flags } => {
            format!("exception clause {clause} has the flags {flags:#x}, which mean no kind of handler")
        }
        IlViolation::UnknownSection { kind } => {
            format!("the section after the code has the kind {kind:#04x}, which is not an exception table")
        }
        IlViolation::SeveralTables => {
            "the method has several exception tables, which runtimes read differently".to_owned()
        }
    }
}

fn part_name(part: BodyPart) -> &'static str {
    match part {
        BodyPart::Header => "the header",
        BodyPart::Code => "the code",
        BodyPart::Instruction => "an instruction",
        BodyPart::Operand => "an instruction's operand",
        BodyPart::Section => "a section after the code",
        BodyPart::Clause => "an exception clause",
    }
}

fn bound_name(bound: ClauseBound) -> &'static str {
    match bound {
        ClauseBound::TryStart => "try start",
        ClauseBound::TryEnd => "try end",
        ClauseBound::HandlerStart => "handler start",
        ClauseBound::HandlerEnd => "handler end",
        ClauseBound::Filter => "filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_violations_with_their_place() {
        let target = IlViolation::BadTarget { offset: 0, target: 3 };
        assert_eq!(sentence(&target), "the branch at offset 0 goes to 3, where no instruction starts");
        let opcode = IlViolation::BadOpcode { value: 0xfe08, offset: 0 };
        assert_eq!(sentence(&opcode), "there is no instruction 0xfe08 (at offset 0)");
        let bound = IlViolation::BadClauseBound { clause: 1, bound: ClauseBound::TryEnd, offset: 2 };
        assert_eq!(sentence(&bound), "exception clause 1 has its try end at 2, where no instruction starts");
        let section = IlViolation::Truncated { part: BodyPart::Section };
        assert_eq!(
            sentence(&section),
            "the method body ends early: a section after the code needs more bytes than there are"
        );
    }
}
