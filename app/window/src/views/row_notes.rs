//! Short notes beside the rows of the methods.

use redial_model::ids::Node;
use redial_model::live::LiveRow;
use redial_model::method_table::{GroupDial, MethodTable};
use redial_protocol::state::CopyState;
use redial_text::words;

/// Returns whether calls are missing: a counting row with a note does not count some calls.
pub fn misses_calls(row: &LiveRow) -> bool {
    row.note.is_some() && matches!(row.state, CopyState::Asked | CopyState::Live)
}

/// Returns a note if the row's numbers are the last known values.
pub fn last_of_row(row: &LiveRow) -> Option<&'static str> {
    match (row.counts(), row.times.is_some()) {
        (false, _) if row.calls == 0 => None,
        (false, _) => Some("Counting is off; showing the last values."),
        (true, true) if !row.is_timed() => Some("Timing is off; showing the last values."),
        (true, _) => None,
    }
}

/// Returns the same note for several methods.
pub fn last_of_group(group: &GroupDial) -> Option<&'static str> {
    match (group.counts(), group.sums.times.is_some()) {
        (false, _) if group.sums.calls == 0 => None,
        (false, _) => Some("Counting is off; showing the last values."),
        (true, true) if !group.is_timed() => Some("Timing is off; showing the last values."),
        (true, _) => None,
    }
}

/// Returns the number of AppDomains that share a module's dials.
pub(super) fn shared_by(table: &MethodTable, node: Node) -> Option<String> {
    let Node::Module(module) = node else { return None };
    let module = table.catalogue.module(module)?;
    let number = table.catalogue.domain_names(module).len();
    table.catalogue.is_shared(module).then(|| format!("shared by {number}"))
}

pub(super) fn remarks(table: &MethodTable, node: Node) -> String {
    let catalogue = &table.catalogue;
    let mut remarks = String::new();
    let (module, index) = match node {
        Node::Module(index) => match catalogue.module(index) {
            Some(module) => (module, index),
            None => return remarks,
        },
        Node::Domain(domain) => {
            let name = catalogue.label(node);
            if catalogue.domain_title(node) != name {
                remarks.push_str(&format!(", {name}"));
            }
            let shared = catalogue.domains().get(domain as usize).is_some_and(|one| one.shared);
            if shared && catalogue.has_domains() {
                remarks.push_str(", a dial here turns it for all of them");
            }
            return remarks;
        }
        _ => return remarks,
    };
    if module.shared && !catalogue.is_shared(module) {
        remarks.push_str(", shared by all AppDomains");
    }
    let copies = catalogue.namesakes(&module.name).count();
    if catalogue.is_merged() && catalogue.spans_processes() {
        let processes = catalogue.domains().len();
        if copies != processes {
            let copies = words::grouped(copies as u64);
            remarks.push_str(&format!(", {copies} copies in {processes} processes"));
        }
    } else if catalogue.is_merged() && copies > 1 {
        remarks.push_str(&format!(", {} copies", words::grouped(copies as u64)));
    } else if !catalogue.is_merged() && !catalogue.alone_in_domain(index) {
        remarks.push_str(&format!(", copy #{}", module.key.generation));
    }
    if module.dynamic {
        remarks.push_str(", dynamic");
    }
    if module.unloaded {
        remarks.push_str(", unloaded");
    }
    remarks
}
