//! The table while methods get other numbers.

use super::List;
use crate::model::catalogue::Catalogue;
use crate::model::catalogue::forget::Renumbering;
use crate::model::ids::MethodIx;

impl List {
    /// Methods were renumbered, none of those shown is gone: it shows what it showed.
    pub fn renumber(&mut self, to: &Renumbering, catalogue: &Catalogue) {
        self.visible = to.bits(&self.visible, catalogue.len());
        self.picked = self.picked.and_then(|method| to.method(method));
        self.ranked = self.ranked.iter().filter_map(|method| Some(to.method(MethodIx(*method))?.0)).collect();
        self.rest = self.rest.renumbered(to, catalogue);
        self.edition += 1;
    }
}
