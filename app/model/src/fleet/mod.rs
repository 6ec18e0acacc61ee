//! Several processes watched together. The fleet's method table imports the processes' modules. Each process is a
//! domain of its catalogue, so that the same method in several processes is one row, like any method with several
//! copies. Its rows are the processes' rows, and a change of it is a change in each process.

mod auto_join;
mod carried_selection;
mod changes;
mod column;
mod import;
mod levels;
mod member_column;
mod member_import;
mod member_removal;
mod newcomers;
pub mod plan;
mod removal;
mod reply_aggregation;
mod requests;
mod selection_mapping;
mod transition_summary;
mod transitions;

pub use auto_join::{AutoJoin, Join, NEWCOMER};
pub use changes::MemberRequest;
pub use levels::FleetLevels;
pub use requests::PartialRefusal;

use super::changes::DialChange;
use super::connection::{Connection, Connections, Status};
use super::events::Events;
use super::histograms::merged_method::MergedHistogram;
use super::ids::{ConnectionId, SubjectId, Ticket};
use super::log::{Log, LogKind};
use super::method_set::MethodSet;
use super::method_table::{Arrivals, MethodTable};
use super::number_range::NumberRange;
use super::update::{Now, RefusedRequest, Retry};
use carried_selection::CarriedSelection;
use column::ColumnMapping;
use import::ImportProgress;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_text::words;
use removal::PendingRemoval;
use requests::FleetRequests;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use transitions::TransitionSummary;

/// The most processes that can be watched together: each takes two threads and two of an agent's sixteen sessions.
pub const MOST_PROCESSES: usize = 64;
/// The most methods that all of them together may have: as many as a frame can filter and sort.
pub const MOST_METHODS: usize = 2_000_000;

/// Several processes watched together.
#[derive(Debug)]
pub struct Fleet {
    /// The methods of all of them.
    pub table: MethodTable,
    title: String,
    status: Status,
    levels: FleetLevels,
    members: Vec<Member>,
    import: ImportProgress,
    removal: PendingRemoval,
    /// The process and the module behind each module of the table.
    origins: HashMap<ModuleKey, (ConnectionId, ModuleKey)>,
    requests: FleetRequests,
    transitions: TransitionSummary,
    carried: Option<CarriedSelection>,
    /// The traced calls of all processes.
    pub events: Events,
    /// The histogram of a merged method.
    pub histogram: MergedHistogram,
    /// Processes that start later.
    pub auto_join: AutoJoin,
}

/// One process of a fleet.
#[derive(Debug)]
pub struct Member {
    /// Its connection.
    pub connection: ConnectionId,
    /// The id of its domain in the fleet's catalogue; never reused.
    slot: u64,
    title: String,
    /// The imported modules, with their keys in the fleet's catalogue.
    modules: HashMap<ModuleKey, ModuleKey>,
    /// Edition and numbering of its catalogue when all of it was imported.
    imported: Option<(u64, u64)>,
    rows: HashMap<RowId, RowId>,
    /// Rows that changed and were not imported yet.
    changed: VecDeque<RowId>,
    /// Rows whose module was not imported yet.
    unplaced: Vec<RowId>,
    is_live: bool,
    /// It joined by itself, and earlier changes have not been made there yet.
    is_new: bool,
    /// Changes made after it was chosen and before its first answer.
    missed: Vec<Ticket>,
    /// Why not all its methods are in the fleet's table.
    pub left_out: Option<String>,
    /// Maps rows of the fleet's table to its own.
    column: ColumnMapping,
}

/// Work that a frame leaves.
#[derive(Debug, Default)]
pub struct RemainingWork {
    /// There is more to import, so another frame is wanted.
    pub more: bool,
    /// When there will be more, on the clock of `Now::mono`.
    pub due: Option<Duration>,
    /// Changes to send to processes that joined.
    pub changes: Vec<DialChange>,
}

impl Default for Fleet {
    fn default() -> Fleet {
        let mut table = MethodTable::default();
        table.catalogue.span_processes();
        Fleet {
            table,
            title: String::new(),
            status: Status::Connecting,
            levels: FleetLevels::default(),
            members: Vec::new(),
            import: ImportProgress::default(),
            removal: PendingRemoval::default(),
            origins: HashMap::new(),
            requests: FleetRequests::default(),
            transitions: TransitionSummary::default(),
            carried: None,
            events: Events::merged(),
            histogram: MergedHistogram::default(),
            auto_join: AutoJoin::default(),
        }
    }
}

impl Fleet {
    /// The number of processes in words: `3 processes`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The state of the connections: live while one of them is.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The levels that the agents offer.
    pub fn levels(&self) -> &FleetLevels {
        &self.levels
    }

    /// Changes that some processes refused.
    pub fn partial_refusals(&self) -> &[PartialRefusal] {
        &self.requests.partial_refusals
    }

    /// The last refusal because another controller has control.
    pub fn last_refusal(&self) -> Option<&(Ticket, RefusedRequest)> {
        self.requests.refusal.as_ref()
    }

    /// Checks whether methods can be turned to a level in any process.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn check(&self, methods: &MethodSet, level: Level) -> Result<(), String> {
        self.table.check(methods, level, self.status.obstacle(), self.levels.offered())
    }

    /// The processes, in the order in which they were chosen.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Makes these the members. New ones are imported bit by bit; methods of the others are removed.
    pub fn set_members(&mut self, wanted: &[ConnectionId], connections: &mut Connections) {
        let leaving = |member: &mut Member| !wanted.contains(&member.connection);
        let left: Vec<Member> = self.members.extract_if(.., leaving).collect();
        left.iter().for_each(|member| member.release(connections));
        left.iter().for_each(|member| self.events.leave(member.connection));
        for id in wanted {
            let Some(connection) = connections.get_mut(id) else { continue };
            if self.members.iter().any(|member| member.connection == *id) {
                continue;
            }
            connection.in_fleet = true;
            connection.table.live.watch();
            self.events.join(*id, &connection.events);
            let slot = self.import.next_slot();
            self.members.push(Member::new(*id, slot));
        }
        self.transitions.forget(&left.iter().map(|member| member.connection).collect::<Vec<_>>());
        self.begin_removal(left.iter().flat_map(|member| member.modules.values().copied()).collect());
    }

    /// Marks a process as one that joined by itself.
    pub fn mark_new(&mut self, connection: ConnectionId) {
        if let Some(member) = self.members.iter_mut().find(|member| member.connection == connection) {
            member.is_new = true;
        }
    }

    /// Releases all members.
    pub fn dissolve(self, connections: &mut Connections) {
        self.members.iter().for_each(|member| member.release(connections));
    }

    /// Suspends the import, so that the next [`Fleet::refresh`] answers a gesture fast; or resumes it.
    pub(super) fn suspend_import(&mut self, suspend: bool) {
        self.import.is_suspended = suspend;
    }

    /// Imports new modules and rows as far as a frame has time for them, and takes in the processes' answers. Call it
    /// once a frame.
    pub(super) fn refresh(
        &mut self,
        connections: &mut Connections,
        log: &mut Log,
        now: Now,
    ) -> RemainingWork {
        self.update_status(connections);
        let (more, arrivals) = if self.import.is_suspended {
            (true, Arrivals::None)
        } else if let Some(arrivals) = self.remove_some(connections) {
            (true, arrivals)
        } else {
            let modules = self.import_modules(connections);
            self.restore_selection(connections);
            let rows = self.import_rows(connections, now);
            let arrivals = match (modules.is_shown_later, rows.has_new_sums) {
                (true, _) => Arrivals::Modules,
                (false, true) => Arrivals::Numbers,
                (false, false) => Arrivals::None,
            };
            // Rows are ordered by new numbers in the next frame.
            (modules.more || rows.more || rows.has_new_sums, arrivals)
        };
        self.import.arrivals = arrivals;
        for member in &self.members {
            if let Some(connection) = connections.get_mut(&member.connection) {
                connection.refresh_dials(now);
            }
        }
        self.take_replies(connections, log, now);
        self.log_transitions(connections, log, now);
        let changes = self.set_up_newcomers(connections, log, now);
        self.levels.retain(|slot| self.members.iter().any(|member| member.slot == slot));
        let due = self.import.sums_due().into_iter().chain(self.transitions.due()).min();
        RemainingWork { more, due, changes }
    }

    /// Brings the table up to date. Call it once a frame, after [`Fleet::refresh`].
    pub(super) fn refresh_table(&mut self, now: Now) {
        self.table.refresh(self.import.arrivals, now);
    }

    fn update_status(&mut self, connections: &Connections) {
        let (mut live, mut waiting, mut running) = (0u32, false, 0);
        let (mut renamed, mut levels) = (false, Vec::new());
        let mut range = (NumberRange::Total, 0);
        let catalogue = &mut self.table.catalogue;
        for member in &mut self.members {
            let Some(connection) = connections.get(&member.connection) else { continue };
            let status = &connection.session.status;
            let why = out_of_reach(status);
            running += usize::from(!has_ended(status));
            member.set_live(why.is_none());
            catalogue.set_unavailable_reason(member.slot, why);
            catalogue.set_process_ended(member.slot, has_ended(status));
            let theirs = &connection.table.live;
            range = (theirs.range(), theirs.recent_seconds().max(range.1));
            let title = connection.title();
            renamed |= title != member.title;
            member.title = title;
            waiting |= matches!(status, Status::Connecting | Status::Attaching);
            if *status == Status::Live {
                live += 1;
                levels.extend(connection.offered());
                self.levels.set(member.slot, connection.offered());
            }
        }
        self.table.live.label_range(range.0, range.1);
        if live > 0 {
            self.levels.set_all(levels);
        }
        // Ended processes keep their domain until their modules are removed.
        let slots = self.members.iter().map(|member| member.slot);
        if renamed || self.removal.is_empty() && !catalogue.has_domains_now(slots) {
            self.name_domains(connections);
        }
        let status = match (live, waiting) {
            (1.., _) => Status::Live,
            (0, true) => Status::Connecting,
            (0, false) => {
                let why = match self.members.len() {
                    0 => "no process is chosen any more".to_owned(),
                    1 => "the process cannot be turned".to_owned(),
                    number => format!("none of the {number} processes can be turned"),
                };
                Status::Lost { why, retry: Retry::Asked, since: Duration::ZERO }
            }
        };
        if self.status != status {
            self.status = status;
        }
        self.title = words::processes(running);
    }

    fn name_domains(&mut self, connections: &Connections) {
        let domain =
            |member: &Member| DomainRow { id: member.slot, name: member.title.clone(), shared: false };
        let theirs = self.members.iter().filter_map(|member| connections.get(&member.connection));
        let expected = theirs.map(|connection| connection.table.catalogue.expected()).sum();
        self.table.catalogue.set_domains(self.members.iter().map(domain).collect(), expected);
    }

    /// The title of a member.
    pub fn title_of(&self, connection: ConnectionId) -> &str {
        let member = self.members.iter().find(|member| member.connection == connection);
        member.map_or("", |member| &member.title)
    }

    /// The process that a module of the table is from.
    pub fn owner(&self, module: ModuleKey) -> Option<ConnectionId> {
        self.origins.get(&module).map(|(connection, _)| *connection)
    }

    /// Maps methods of the table to those of one process.
    pub fn part_of(&self, theirs: &Connection, methods: &MethodSet) -> MethodSet {
        let mut part = MethodSet::default();
        for ours in self.table.catalogue.modules() {
            let Some((connection, key)) = self.origins.get(&ours.key) else { continue };
            if *connection != theirs.id || !methods.touches(&ours.methods) {
                continue;
            }
            let Some(module) = theirs.table.catalogue.by_key(*key) else { continue };
            let shift = |at: u32| at - ours.methods.start + module.methods.start;
            for range in methods.within(&ours.methods) {
                part.insert(shift(range.start)..shift(range.end));
            }
        }
        part
    }

    /// Adds a line about the fleet to the log.
    fn log_line(log: &mut Log, now: Now, kind: LogKind, text: impl Into<String>) {
        log.add(now, Some(SubjectId::Fleet), kind, text);
    }
}

impl Member {
    fn new(connection: ConnectionId, slot: u64) -> Member {
        Member {
            connection,
            slot,
            title: String::new(),
            modules: HashMap::new(),
            imported: None,
            rows: HashMap::new(),
            changed: VecDeque::new(),
            unplaced: Vec::new(),
            is_live: false,
            is_new: false,
            missed: Vec::new(),
            left_out: None,
            column: ColumnMapping::default(),
        }
    }

    /// Lets its connection log for itself again.
    fn release(&self, connections: &mut Connections) {
        if let Some(connection) = connections.get_mut(&self.connection) {
            connection.in_fleet = false;
            drop(connection.take_finished_transitions());
            connection.table.live.unwatch();
        }
    }

    /// Notes whether its agent answers. All its rows are imported again when that changes, for they show it.
    fn set_live(&mut self, is_live: bool) {
        if self.is_live != is_live {
            self.is_live = is_live;
            self.changed.extend(self.rows.keys());
        }
    }
}

/// Why no dial of a process can be turned. None if they can.
pub fn out_of_reach(status: &Status) -> Option<String> {
    match status {
        Status::Live => None,
        Status::Connecting => Some("it has not answered yet".to_owned()),
        Status::Attaching => Some("the agent is being loaded into it".to_owned()),
        Status::Lost { retry: Retry::Never, .. } => Some("it has ended".to_owned()),
        Status::Lost { why, .. } => Some(why.clone()),
    }
}

/// Whether a process has ended, so that only its last numbers are left.
pub fn has_ended(status: &Status) -> bool {
    status.retry() == Some(Retry::Never)
}
