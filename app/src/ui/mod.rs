//! Widgets and the look: theme, knob, list, sparkline, histogram, hints, numbers. They draw what they are given and say what the user
//! did; they must not know what a process or an agent is.
#![forbid(unsafe_code)]

pub mod hint;
pub mod histogram;
pub mod knob;
pub mod knob_levels;
pub mod knob_paint;
pub mod letters;
pub mod list;
pub mod numbers;
pub mod signs;
pub mod sparkline;
pub mod theme;
pub mod widths;
