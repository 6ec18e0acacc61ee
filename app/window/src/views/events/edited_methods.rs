//! The selected methods whose condition and limits are edited, in each process that has them.

use redial_model::connection::{Connection, Connections};
use redial_model::live::LiveRow;
use redial_model::method_set::MethodSet;
use redial_model::method_table::Targets;
use redial_model::subject::Subject;
use redial_protocol::level::Level;
use redial_protocol::trace::TracedMethod;
use std::sync::Arc;

/// The methods.
pub struct EditedMethods<'a> {
    /// The process, or the processes together.
    pub subject: Subject<'a>,
    /// What a change is for.
    pub targets: Targets,
    /// The methods in each process.
    parts: Vec<(&'a Connection, MethodSet)>,
}

impl<'a> EditedMethods<'a> {
    /// Returns the selected methods; None without a selection, or if none can be traced.
    pub fn of(subject: Subject<'a>, connections: &'a Connections) -> Option<EditedMethods<'a>> {
        let table = subject.table();
        let can_trace = subject.obstacle().is_none() && subject.offered().contains(&Level::Trace);
        if table.selection.is_empty() || !can_trace {
            return None;
        }
        let targets = table.turned_by_selection();
        let parts = match subject {
            Subject::Process(connection) => vec![(connection, targets.methods.clone())],
            Subject::Fleet(fleet) => {
                let members = fleet.members().iter().filter_map(|one| connections.get(&one.connection));
                let with_part = |theirs: &'a Connection| (theirs, fleet.part_of(theirs, &targets.methods));
                members.map(with_part).collect()
            }
        };
        Some(EditedMethods { subject, targets, parts })
    }

    /// Returns the rows of the methods that are or were dialled, with their processes.
    pub fn rows(&self) -> impl Iterator<Item = (&'a Connection, &'a LiveRow)> + '_ {
        self.parts.iter().flat_map(|(connection, methods)| {
            let rows = methods.iter().filter_map(|method| connection.table.live.of_method(method));
            rows.map(|row| (*connection, row))
        })
    }

    /// Returns the form in which a row's method was traced, if it was.
    pub fn traced_form((connection, row): (&'a Connection, &'a LiveRow)) -> Option<&'a Arc<TracedMethod>> {
        connection.events.method(row.id)
    }

    /// Returns when the agents reported their conditions last, nanoseconds.
    pub fn reported(&self) -> u128 {
        let orders = self.parts.iter().filter_map(|(connection, _)| connection.orders.as_ref());
        orders.map(|orders| orders.at.mono.as_nanos()).max().unwrap_or(0)
    }

    /// Returns the processes.
    pub fn processes(&self) -> impl Iterator<Item = &'a Connection> + '_ {
        self.parts.iter().map(|(connection, _)| *connection)
    }
}
