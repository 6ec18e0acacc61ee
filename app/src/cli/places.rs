//! Where copies of one method are: told in tables only when it tells rows apart.

use crate::model::dials::{Dial, Dials};
use crate::output::json::module_id;
use crate::output::table::{Column, text, wide};
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;

/// What is told of the places of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Rows are in several AppDomains.
    domain: bool,
    /// Several rows in one AppDomain have the same name: copies of load contexts.
    copy: bool,
}

/// Domain, module, method, signature.
type Name<'a> = (&'a str, &'a str, &'a str, &'a str);

impl Places {
    /// What is to be told of these rows.
    pub fn of(dials: &Dials) -> Places {
        let mut seen: HashMap<Name<'_>, ModuleKey> = HashMap::new();
        let mut places = Places::default();
        let mut first = None;
        for Dial { row, .. } in dials.iter() {
            places.domain |= *first.get_or_insert(&row.domain) != &row.domain;
            let name =
                (row.domain.as_str(), row.module.as_str(), row.method.as_str(), row.signature.as_str());
            places.copy |= *seen.entry(name).or_insert(row.copy.module) != row.copy.module;
        }
        places
    }

    /// The columns of a table.
    pub fn headings(self) -> impl Iterator<Item = Column> {
        self.domain.then(|| wide("DOMAIN")).into_iter().chain(self.copy.then(|| text("COPY")))
    }

    /// What stands in them.
    pub fn cells(self, dial: &Dial) -> impl Iterator<Item = String> {
        let domain = self.domain.then(|| dial.row.domain.clone());
        domain.into_iter().chain(self.copy.then(|| module_id(dial.row.copy.module)))
    }

    /// The same, to follow a name on a line: ` in DOMAIN copy 0x…`.
    pub fn suffix(self, dial: &Dial) -> String {
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
    use crate::model::dials::tests::row;
    use redial_protocol::message::StatusRow;

    fn told(rows: Vec<StatusRow>) -> (Places, Vec<String>) {
        let mut dials = Dials::default();
        dials.rows(rows);
        let places = Places::of(&dials);
        (places, dials.iter().map(|dial| places.suffix(dial)).collect())
    }

    #[test]
    fn only_what_tells_rows_apart_is_told() {
        let first = row(0, "Shop.Cart.Add", 1);
        let elsewhere = |index, domain: &str, module_id| {
            let mut other = row(index, "Shop.Cart.Add", 1);
            other.domain = domain.to_owned();
            other.copy.module.module_id = module_id;
            other
        };
        let (places, suffixes) = told(vec![first.clone(), row(1, "Shop.Cart.Take", 1)]);
        assert_eq!((places, suffixes.concat().as_str()), (Places::default(), ""));
        assert_eq!(places.headings().count(), 0);
        let (_, suffixes) = told(vec![first.clone(), elsewhere(1, "B", 0x10)]);
        assert_eq!(suffixes, [" in clrhost", " in B"]);
        let (places, suffixes) = told(vec![first, elsewhere(1, "clrhost", 0x10)]);
        assert_eq!(suffixes[1], " copy 0x10");
        assert_eq!(places, Places { domain: false, copy: true });
    }
}
