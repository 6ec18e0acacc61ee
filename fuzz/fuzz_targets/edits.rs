//! IL edits: a generator turns any bytes into a valid body, and every edit of it must be valid too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::il::maxstack::{CallShape, Shapes};
use redial_agent::il::verify::verify;
use redial_agent::il::{
    Body, BodyWrapper, Clause, ClauseKind, Edit, Insn, Instruction, Label, Landing, Opcode, Operand,
    Prologue, encode, with_prologue, wrap_body,
};

/// Statements of a body.
const STATEMENTS: usize = 300;
/// Nesting of regions and branches.
const DEPTH: usize = 7;

/// Methods without calls that return nothing.
struct NoCalls;

impl Shapes for NoCalls {
    fn call(&self, _: Opcode, _: u32) -> Option<CallShape> {
        None
    }

    fn returns_value(&self) -> bool {
        false
    }
}

/// Writes statements, each of which begins and ends with an empty stack.
struct Generator<'d> {
    choices: std::slice::Iter<'d, u8>,
    code: Vec<Instruction>,
    clauses: Vec<Clause>,
    left: usize,
}

impl Generator<'_> {
    /// Returns the next byte; 0 once all are used, so that the body ends.
    fn choice(&mut self) -> u8 {
        self.choices.next().copied().unwrap_or_default()
    }

    fn here(&self) -> Label {
        Label(self.code.len() as u32)
    }

    fn put(&mut self, opcode: Opcode, operand: Operand) -> usize {
        self.code.push(Instruction::new(opcode, operand));
        self.code.len() - 1
    }

    fn plain(&mut self, opcode: Opcode) {
        self.put(opcode, Operand::None);
    }

    /// Lets an earlier branch go to the next instruction.
    fn land(&mut self, branches: &[usize]) {
        let here = self.here();
        for branch in branches {
            if let Some(instruction) = self.code.get_mut(*branch) {
                instruction.operand = Operand::Target(here);
            }
        }
    }

    fn leave(&mut self) -> usize {
        self.put(Opcode::LEAVE_S, Operand::Target(Label(0)))
    }

    fn block(&mut self, depth: usize) {
        let mut starts = Vec::new();
        loop {
            let choice = self.choice();
            if choice == 0 || self.left == 0 {
                break;
            }
            self.left -= 1;
            starts.push(self.here());
            self.statement(choice, depth, &starts);
        }
        // No region is empty.
        self.plain(Opcode::NOP);
    }

    fn statement(&mut self, choice: u8, depth: usize, starts: &[Label]) {
        let earlier = |byte: u8| starts[usize::from(byte) % starts.len()];
        let nests = depth < DEPTH;
        match choice % 10 {
            1 => self.plain(Opcode::NOP),
            2 => {
                let number = i64::from(self.choice()) << 40;
                self.put(Opcode::LDC_I8, Operand::I64(number));
                self.plain(Opcode::POP);
            }
            3 => {
                self.plain(Opcode::LDC_I4_1);
                self.plain(Opcode::LDC_I4_2);
                self.plain(Opcode::ADD);
                self.plain(Opcode::POP);
            }
            4 => {
                let target = earlier(self.choice());
                self.plain(Opcode::LDC_I4_0);
                self.put(Opcode::BRTRUE_S, Operand::Target(target));
            }
            5 => {
                let targets = (0..self.choice() % 5).map(|_| earlier(self.choice())).collect();
                self.plain(Opcode::LDC_I4_3);
                self.put(Opcode::SWITCH, Operand::Switch(targets));
            }
            6 if nests => {
                self.plain(Opcode::LDC_I4_0);
                let over = self.put(Opcode::BRFALSE_S, Operand::Target(Label(0)));
                self.block(depth + 1);
                self.land(&[over]);
            }
            7..=9 if nests => self.protected(choice, depth),
            _ => {
                self.plain(Opcode::LDARG_0);
                self.plain(Opcode::POP);
            }
        }
    }

    /// A try region with its handler.
    fn protected(&mut self, choice: u8, depth: usize) {
        let start = self.here();
        self.block(depth + 1);
        let mut leaves = vec![self.leave()];
        let try_region = start..self.here();
        let mut handler = self.here();
        let kind = match choice % 4 {
            0 => ClauseKind::Catch { class: 0x0200_0001 },
            1 => {
                self.plain(Opcode::POP);
                self.block(depth + 1);
                self.plain(Opcode::LDC_I4_1);
                self.plain(Opcode::ENDFILTER);
                let filter = ClauseKind::Filter { start: handler };
                handler = self.here();
                filter
            }
            2 => ClauseKind::Finally { unused: 0 },
            _ => ClauseKind::Fault { unused: 0 },
        };
        if matches!(kind, ClauseKind::Catch { .. } | ClauseKind::Filter { .. }) {
            self.plain(Opcode::POP);
            self.block(depth + 1);
            leaves.push(self.leave());
        } else {
            self.block(depth + 1);
            self.plain(Opcode::ENDFINALLY);
        }
        // Inner clauses come first.
        self.clauses.push(Clause { kind, try_region, handler: handler..self.here() });
        self.land(&leaves);
    }
}

fn generate(data: &[u8]) -> Body {
    let (code, clauses) = (Vec::new(), Vec::new());
    let mut generator = Generator { choices: data.iter(), code, clauses, left: STATEMENTS };
    generator.block(0);
    generator.plain(Opcode::RET);
    Body {
        max_stack: 2,
        init_locals: false,
        local_sig: 0,
        instructions: generator.code,
        fat_clauses: false,
        clauses: generator.clauses,
        old_code_size: 0,
    }
}

/// Returns whether a region begins or ends here.
fn is_bound(body: &Body, at: Label) -> bool {
    body.clauses.iter().any(|clause| {
        let filter = match clause.kind {
            ClauseKind::Filter { start } => Some(start),
            _ => None,
        };
        let bounds =
            [clause.try_region.start, clause.try_region.end, clause.handler.start, clause.handler.end];
        bounds.contains(&at) || filter == Some(at)
    })
}

fuzz_target!(|data: &[u8]| {
    let (body, places) = data.split_at(data.len() - data.len() / 3);
    let body = generate(body);
    let original = encode(&body).expect("a generated body can be encoded").bytes;
    verify(&original, &NoCalls).expect("a generated body is valid");

    let balanced = || vec![Insn::LdcI8(1), Insn::Pop];
    let edited = with_prologue(&original, Prologue::new(balanced(), 1)).expect("it takes a prologue");
    verify(&edited.body, &NoCalls).expect("a prologue keeps it valid");

    let wrapper = BodyWrapper {
        before: balanced(),
        first: balanced(),
        fault: balanced(),
        after: balanced(),
        within: Vec::new(),
        stack: 1,
        result: None,
        local_sig: 0x1100_0001,
    };
    let wrapped = wrap_body(&original, wrapper).expect("it can be wrapped");
    verify(&wrapped.body, &NoCalls).expect("wrapping keeps it valid");

    let mut changed = body.clone();
    let (mut edit, mut inserted) = (Edit::new(), 0);
    for place in places.chunks_exact(2) {
        let number = u32::from(u16::from_le_bytes([place[0], place[1]]));
        let at = Label((number >> 1) % body.end().0);
        // Code that only fall-through reaches must not stand at the end of a region.
        let landing = match number & 1 {
            0 if !is_bound(&body, at) => Landing::Original,
            _ => Landing::Inserted,
        };
        edit.insert_before(
            at,
            landing,
            vec![Insn::LdcI4(1), Insn::Brtrue(1), Insn::Any(Opcode::NOP, Operand::None)],
        );
        inserted += 3;
    }
    edit.apply(&mut changed).expect("insertions at instructions succeed");
    changed.max_stack += 1;
    assert_eq!(changed.instructions.len(), body.instructions.len() + inserted);
    assert_eq!(changed.clauses.len(), body.clauses.len());
    let written = encode(&changed).expect("the changed body can be encoded").bytes;
    verify(&written, &NoCalls).expect("insertions keep it valid");
});
