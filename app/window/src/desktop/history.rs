//! The methods looked at, as places to return to.

use redial_model::ids::SubjectId;
use redial_model::list::Filter;
use redial_protocol::ids::CopyKey;

/// Most places remembered.
const MOST: usize = 100;

/// A place to return to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub subject: SubjectId,
    pub copy: CopyKey,
    pub filter: Filter,
}

/// The places looked at, in order.
#[derive(Debug, Default)]
pub(super) struct History {
    places: Vec<Place>,
    /// The number of places up to the current one.
    at: usize,
}

impl History {
    /// Adds a place and forgets those that *Back* left. Another filter alone is no other place.
    pub(super) fn visit(&mut self, place: Place) {
        self.places.truncate(self.at);
        match self.places.last_mut().filter(|last| (last.subject, last.copy) == (place.subject, place.copy)) {
            Some(last) => *last = place,
            None => self.places.push(place),
        }
        if self.places.len() > MOST {
            self.places.remove(0);
        }
        self.at = self.places.len();
    }

    /// Returns whether there is a place before the current one.
    pub(super) fn has_back(&self) -> bool {
        self.at > 1
    }

    /// Returns whether *Back* left a place.
    pub(super) fn has_forward(&self) -> bool {
        self.at < self.places.len()
    }

    pub(super) fn step(&mut self, forward: bool) -> Option<Place> {
        let at = if forward { self.at + 1 } else { self.at.checked_sub(1)? };
        let place = self.places.get(at.checked_sub(1)?)?.clone();
        self.at = at;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::ids::ConnectionId;
    use redial_protocol::ids::{MethodToken, ModuleKey};

    fn place(number: u32) -> Place {
        let module = ModuleKey { module_id: 1, generation: 1 };
        let copy = CopyKey { module, token: MethodToken(number) };
        Place { subject: SubjectId::Process(ConnectionId(1)), copy, filter: Filter::default() }
    }

    #[test]
    fn history_goes_back_and_forward() {
        let mut history = History::default();
        assert!(!history.has_back() && !history.has_forward());
        for number in [1, 2, 2, 3] {
            history.visit(place(number));
        }
        assert_eq!(history.step(false), Some(place(2)));
        assert_eq!(history.step(false), Some(place(1)));
        assert!(!history.has_back());
        assert_eq!(history.step(false), None);
        assert_eq!(history.step(true), Some(place(2)));
        history.visit(place(9));
        assert!(!history.has_forward(), "another jump forgets the way forward");
        assert_eq!(history.step(false), Some(place(2)));
    }

    #[test]
    fn history_is_bounded() {
        let mut history = History::default();
        (0..1_000).for_each(|number| history.visit(place(number)));
        assert_eq!(history.places.len(), MOST);
        assert_eq!(history.step(false), Some(place(998)));
    }
}
