//! Filter and order of the rows, as the window keeps them.

use redial_model::list::{Filter, Sort};

/// Filter and order of the rows. They belong to the window: they stay when another process is shown, and no
/// process brings its own.
#[derive(Clone, Debug)]
pub(super) struct ListOptions {
    pub(super) filter: Filter,
    pub(super) sort: Sort,
    pub(super) frozen: bool,
}
