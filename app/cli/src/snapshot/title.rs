//! The title of a snapshot.

use redial_model::process_snapshot::ProcessSnapshot;
use redial_text::words;

/// Returns what a snapshot is of: `process 42 (Shop) on shop-1 at 2026-11-20 05:46:01Z`.
pub(super) fn title(snapshot: &ProcessSnapshot) -> String {
    let header = &snapshot.header;
    let name = header.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let host = header.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let title = format!("process {}{name}{host} at {}", header.pid, words::utc(header.taken_unix_ms));
    words::printable(&title)
}
