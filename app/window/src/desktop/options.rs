//! How the window starts.

use super::clock::Clock;
use std::path::PathBuf;

/// How the window starts.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A process to connect to at once.
    pub pid: Option<u32>,
    /// Show its dialled methods first, the most called on top.
    pub dialled: bool,
    /// The settings file; `None` to keep no settings.
    pub settings: Option<PathBuf>,
    /// Whether to look for processes.
    pub scan: bool,
    /// The window's clock.
    pub clock: Clock,
}
