//! Maps byte offsets to instructions during decoding.

use super::Label;
use redial_protocol::diagnostics::IlViolation;

/// The instruction that starts at each byte of the code.
pub(super) struct Starts {
    /// One entry per byte and one for the end of the code; `NONE` inside an instruction.
    index_at: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Starts {
    /// Returns an empty map for code of this size.
    pub(super) fn new(code_size: usize) -> Self {
        Starts { index_at: vec![NONE; code_size.saturating_add(1)] }
    }

    /// Records that an instruction (or the end of the code) starts at the offset.
    pub(super) fn note(&mut self, offset: usize, index: u32) {
        if let Some(entry) = self.index_at.get_mut(offset) {
            *entry = index;
        }
    }

    /// Returns the label of the instruction that starts at the offset, or of the end of the code.
    pub(super) fn label(&self, offset: u64) -> Option<Label> {
        let index = *self.index_at.get(usize::try_from(offset).ok()?)?;
        (index != NONE).then_some(Label(index))
    }

    /// Returns the target of a branch, which must not be the end of the code.
    pub(super) fn target(&self, branch: u32, target: i64) -> Result<Label, IlViolation> {
        let end = self.index_at.len() as i64 - 1;
        u64::try_from(target)
            .ok()
            .filter(|_| target < end)
            .and_then(|offset| self.label(offset))
            .ok_or(IlViolation::BadTarget { offset: branch, target })
    }
}
