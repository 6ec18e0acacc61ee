//! Columns for the AppDomain and copy of a method, shown only if they distinguish rows.

use crate::output::json::module_id;
use crate::output::table::{TableColumn, text, wide};
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;

/// Which of the place columns a table needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocationColumns {
    /// Whether rows are in several AppDomains.
    domain: bool,
    /// Whether rows in one AppDomain share a name: copies in several load contexts.
    copy: bool,
}

/// Domain, module, method, signature.
type CopyName<'a> = (&'a str, &'a str, &'a str, &'a str);

impl LocationColumns {
    /// Returns the columns that these rows need.
    pub fn of(dials: &DialledCopies) -> LocationColumns {
        let mut seen: HashMap<CopyName<'_>, ModuleKey> = HashMap::new();
        let mut places = LocationColumns::default();
        let mut first = None;
        for DialledCopy { row, .. } in dials.iter() {
            places.domain |= *first.get_or_insert(&row.domain) != &row.domain;
            let name =
                (row.domain.as_str(), row.module.as_str(), row.method.as_str(), row.signature.as_str());
            places.copy |= *seen.entry(name).or_insert(row.copy.module) != row.copy.module;
        }
        places
    }

    /// Returns the table columns.
    pub fn headings(self) -> impl Iterator<Item = TableColumn> {
        self.domain.then(|| wide("DOMAIN")).into_iter().chain(self.copy.then(|| text("COPY")))
    }

    /// Returns the cells of a row in these columns.
    pub fn cells(self, dial: &DialledCopy) -> impl Iterator<Item = String> {
        let domain = self.domain.then(|| dial.row.domain.clone());
        domain.into_iter().chain(self.copy.then(|| module_id(dial.row.copy.module)))
    }

    /// Returns the place as a suffix for a name: ` in DOMAIN copy 0x…`.
    pub fn suffix(self, dial: &DialledCopy) -> String {
        let mut suffix = String::new();
        if self.domain {
            suffix.push_str(" in ");
            suffix.push_str(&dial.row.domain);
        }
        if self.copy {
            suffix.push_str(" copy ");
            suffix.push_str(&module_id(dial.row.copy.module));
        }
        suffix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_protocol::message::StatusRow;

    fn suffixes(rows: Vec<StatusRow>) -> (LocationColumns, Vec<String>) {
        let mut dials = DialledCopies::default();
        dials.rows(rows);
        let places = LocationColumns::of(&dials);
        (places, dials.iter().map(|dial| places.suffix(dial)).collect())
    }

    #[test]
    fn shows_only_places_that_distinguish_rows() {
        let first = row(0, "Shop.Cart.Add", 1);
        let elsewhere = |index, domain: &str, module_id| {
            let mut other = row(index, "Shop.Cart.Add", 1);
            other.domain = domain.to_owned();
            other.copy.module.module_id = module_id;
            other
        };
        let (places, texts) = suffixes(vec![first.clone(), row(1, "Shop.Cart.Take", 1)]);
        assert_eq!((places, texts.concat().as_str()), (LocationColumns::default(), ""));
        assert_eq!(places.headings().count(), 0);
        let (_, texts) = suffixes(vec![first.clone(), elsewhere(1, "B", 0x10)]);
        assert_eq!(texts, [" in clrhost", " in B"]);
        let (places, texts) = suffixes(vec![first, elsewhere(1, "clrhost", 0x10)]);
        assert_eq!(texts[1], " copy 0x10");
        assert_eq!(places, LocationColumns { domain: false, copy: true });
    }
}
