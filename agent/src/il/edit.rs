//! Insertions, collected first and applied together, so that each label moves only once.

use super::{Body, ClauseKind, IlError, Insn, Instruction, Label, Operand};

/// Destination of a branch (or a clause bound) to the place of an insertion, after the edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The first inserted instruction: branches to the place run the inserted code, and a region that starts
    /// there includes it.
    Inserted,
    /// The original instruction: only fall-through runs the inserted code, and no region that starts there
    /// includes it.
    Original,
}

/// Pending insertions. Labels inside inserted instructions refer to the unedited body.
#[derive(Debug, Default)]
pub struct Edit {
    insertions: Vec<Insertion>,
}

#[derive(Debug)]
struct Insertion {
    at: Label,
    landing: Landing,
    code: Vec<Insn>,
}

impl Edit {
    /// Returns an edit without insertions.
    pub fn new() -> Self {
        Edit::default()
    }

    /// Inserts before an instruction, after earlier insertions at the same place. The end of the code is a
    /// valid place.
    pub fn insert_before(&mut self, at: Label, landing: Landing, code: Vec<Insn>) {
        self.insertions.push(Insertion { at, landing, code });
    }

    /// Applies all insertions.
    ///
    /// # Errors
    /// A place past the end of the code, or an inserted branch that skips past the inserted instructions. The
    /// body is then unchanged.
    pub fn apply(mut self, body: &mut Body) -> Result<(), IlError> {
        let mut inserted = 0_usize;
        for insertion in &self.insertions {
            if insertion.at > body.end() {
                return Err(IlError::BadLabel { part: "an insertion", label: insertion.at.0 });
            }
            for (index, insn) in insertion.code.iter().enumerate() {
                if insn.skip().is_some_and(|skip| skip >= insertion.code.len() - index) {
                    return Err(IlError::BadLabel { part: "an inserted branch", label: insertion.at.0 });
                }
            }
            inserted += insertion.code.len();
        }
        self.insertions.sort_by_key(|insertion| insertion.at); // stable: insertions at the same place keep their order
        let moves = Moves::new(&self.insertions, body.end());
        let mut list = Vec::with_capacity(body.instructions.len() + inserted);
        let mut insertions = self.insertions.into_iter().peekable();
        for (index, mut instruction) in std::mem::take(&mut body.instructions).into_iter().enumerate() {
            while let Some(insertion) = insertions.next_if(|next| next.at.0 as usize == index) {
                insertion.append(&mut list, &moves);
            }
            moves.operand(&mut instruction.operand);
            list.push(instruction);
        }
        for insertion in insertions {
            insertion.append(&mut list, &moves);
        }
        body.instructions = list;
        for clause in &mut body.clauses {
            if let ClauseKind::Filter { start } = &mut clause.kind {
                moves.label(start);
            }
            for region in [&mut clause.try_region, &mut clause.handler] {
                moves.label(&mut region.start);
                moves.label(&mut region.end);
            }
        }
        Ok(())
    }
}

impl Insertion {
    fn append(self, list: &mut Vec<Instruction>, moves: &Moves) {
        for insn in self.code {
            let skips = insn.skip().is_some();
            let mut instruction = insn.at(list.len());
            if !skips {
                moves.operand(&mut instruction.operand);
            }
            list.push(instruction);
        }
    }
}

/// New index of each old label.
struct Moves(Vec<Label>);

impl Moves {
    /// Computes the new labels; `insertions` must be sorted by place.
    fn new(insertions: &[Insertion], end: Label) -> Self {
        let mut moved = Vec::with_capacity(end.0 as usize + 1);
        let mut shift = 0_u32;
        let mut insertions = insertions.iter().peekable();
        for index in 0..=end.0 {
            let mut landed = None;
            while let Some(insertion) = insertions.next_if(|next| next.at.0 == index) {
                if insertion.landing == Landing::Inserted && landed.is_none() {
                    landed = Some(index + shift);
                }
                shift += insertion.code.len() as u32;
            }
            moved.push(Label(landed.unwrap_or(index + shift)));
        }
        Moves(moved)
    }

    fn label(&self, label: &mut Label) {
        // A label past the end stays invalid, and the layout refuses it.
        *label = self.0.get(label.0 as usize).copied().unwrap_or(Label(u32::MAX));
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Target(label) => self.label(label),
            Operand::Switch(labels) => labels.iter_mut().for_each(|label| self.label(label)),
            _ => {}
        }
    }
}
