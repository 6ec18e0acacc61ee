//! The window of Redial: views draw the model, and workers of `redial_link` feed it. Modules form layers:
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | 0 | `settings` | what the window remembers |
//! | 1 | `ui` | themes and widgets |
//! | 2 | `commands` | actions, their keys and when they apply |
//! | 3 | `views` | the parts of the window |
//! | 4 | `desktop` | the loop: updates in, views out, commands carried out |
#![forbid(unsafe_code)]

mod commands;
mod desktop;
mod settings;
mod ui;
mod views;

pub use desktop::{App, Clock, Options, open};
