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
