//! The outcome of waiting for a child that leads a process group.

/// The state of a child that was made askable, and of its process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The child is running.
    Child,
    /// The child has ended, but this many processes of its group have not. The child was not reaped, so that the
    /// group can be signalled.
    #[cfg_attr(windows, allow(dead_code, reason = "Windows stops only the child"))]
    Others(usize),
    /// Everything has ended, and the child was reaped.
    Nobody(std::process::ExitStatus),
}
