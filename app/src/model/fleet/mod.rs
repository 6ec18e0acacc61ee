//! Several processes looked at together: merged into one more connection, which has no agent of its own. Its catalogue
//! takes over what the others have loaded (each process is a domain of it, so that the same method of several is one row
//! like any other that has copies), its rows are theirs, and what is turned in it is turned in each of them.

mod column;
mod follow;
mod hear;
mod leave;
mod picked;
pub mod plan;
mod take;
mod turning;
mod went;

pub use follow::{Follow, Join, NEWCOMER};
pub use hear::Untaken;
pub use turning::Errand;

use super::connection::{Connection, Status};
use super::ids::{ConnectionId, FLEET, Ticket};
use super::log::Log;
use super::turns::Turn;
use super::update::{Now, Retry};
use redial_protocol::catalogue::DomainRow;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::{ModuleKey, ProcessKey, RowId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// Processes that can be looked at together: each takes two threads and two of an agent's sixteen sessions.
pub const MOST_PROCESSES: usize = 64;
/// Methods that all of them together may have: what is filtered and sorted within a frame.
pub const MOST_METHODS: usize = 2_000_000;

/// Every connection there is, by its id.
pub type Connections = BTreeMap<ConnectionId, Connection>;

/// Several processes looked at together.
#[derive(Debug, Default)]
pub struct Fleet {
    members: Vec<Member>,
    last_slot: u64,
    last_module: u64,
    last_row: u32,
    /// The member whose rows are taken over first.
    first_for_rows: usize,
    /// There are numbers that sums and orders do not heed yet, and when they heeded some last, on `Now::mono`'s clock.
    uncounted: bool,
    counted_at: Option<Duration>,
    /// Modules were taken over in the last frame.
    took: bool,
    /// A gesture is answered: what the processes told can wait for the next frame.
    pub(super) takes_nothing: bool,
    /// Modules were taken over, and their types have no place among the others yet.
    unordered: bool,
    leaving: leave::Leaving,
    /// Where each module of the merged catalogue is from.
    origins: HashMap<ModuleKey, (ConnectionId, ModuleKey)>,
    /// Turns that are not answered everywhere.
    sent: Vec<hear::Sent>,
    /// Of turns that were done, what they are in each process.
    made: BTreeMap<Ticket, Vec<(ConnectionId, Ticket)>>,
    went: went::Went,
    carried: Option<picked::Carried>,
    /// Processes that start later.
    pub follow: Follow,
}

/// One of them.
#[derive(Debug)]
pub struct Member {
    /// Its connection.
    pub connection: ConnectionId,
    /// Its place among the domains of the merged catalogue: never reused.
    slot: u64,
    title: String,
    /// Modules taken over, with what each is called in the merged catalogue.
    modules: HashMap<ModuleKey, ModuleKey>,
    /// Edition and numbering of the catalogue that was looked at last.
    seen: Option<(u64, u64)>,
    rows: HashMap<RowId, RowId>,
    /// Rows that changed and were not taken over yet.
    changed: VecDeque<RowId>,
    /// Rows whose module was not taken over yet.
    unplaced: Vec<RowId>,
    answers: bool,
    /// It joined by itself, and what was turned before has not been turned there yet.
    is_new: bool,
    /// Turns that were made after it was chosen and before it answered for the first time.
    owed: Vec<Ticket>,
    /// Why not all its methods are in the merged list.
    pub left_out: Option<String>,
    /// What rows of the merged list are in it.
    column: column::Column,
}

/// What a frame leaves to be done.
#[derive(Debug, Default)]
pub struct Settled {
    /// There is more to take over: another frame is wanted.
    pub more: bool,
    /// When there will be, on `Now::mono`'s clock.
    pub due: Option<Duration>,
    /// Turns to be sent to processes that joined.
    pub turns: Vec<Turn>,
}

impl Fleet {
    /// The merged connection as it begins.
    pub fn merged() -> Connection {
        let mut all = Connection::new(FLEET, ProcessKey { pid: 0, start: 0 }, "");
        all.catalogue.span_processes();
        all
    }

    /// The processes, in the order they were chosen.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Makes these the members: those that are new are taken over bit by bit, and what others leave behind is forgotten.
    pub fn set_members(&mut self, wanted: &[ConnectionId], connections: &mut Connections) {
        let leaving = |member: &mut Member| !wanted.contains(&member.connection);
        let left: Vec<Member> = self.members.extract_if(.., leaving).collect();
        for member in &left {
            if let Some(connection) = connections.get_mut(&member.connection) {
                connection.is_one_of_many = false;
                drop(connection.take_went());
                connection.live.unwatch();
            }
        }
        for id in wanted {
            let Some(connection) = connections.get_mut(id) else { continue };
            if self.members.iter().any(|member| member.connection == *id) {
                continue;
            }
            connection.is_one_of_many = true;
            connection.live.watch();
            self.last_slot += 1;
            self.members.push(Member::new(*id, self.last_slot));
        }
        self.went.forget(&left);
        let Some(all) = connections.get_mut(&FLEET) else { return };
        self.leave_behind(all, left.iter().flat_map(|member| member.modules.values().copied()).collect());
    }

    /// Marks a process as one that joined by itself.
    pub fn is_new(&mut self, connection: ConnectionId) {
        if let Some(member) = self.members.iter_mut().find(|member| member.connection == connection) {
            member.is_new = true;
        }
    }

    /// Lets go of all of them.
    pub fn dissolve(&mut self, connections: &mut Connections) {
        connections.remove(&FLEET);
        self.set_members(&[], connections);
    }

    /// Brings the merged connection up to date; once a frame.
    pub fn settle(&mut self, connections: &mut Connections, log: &mut Log, now: Now) -> Settled {
        let Some(mut all) = connections.remove(&FLEET) else { return Settled::default() };
        self.stand(&mut all, connections);
        let more = if self.takes_nothing {
            (all.modules_are_new, all.numbers_are_new) = (false, false);
            true
        } else if self.leave(&mut all, connections) {
            true
        } else {
            let modules = self.take_modules(&mut all, connections);
            self.put_down(&mut all, connections);
            self.take_rows(&mut all, connections, now) || modules
        };
        for member in &self.members {
            if let Some(connection) = connections.get_mut(&member.connection) {
                connection.settle_dials(now);
            }
        }
        self.hear(&mut all, connections, log, now);
        self.tell_went(connections, log, now);
        let turns = self.greet(&mut all, connections, log, now);
        all.offered_in.retain(|slot, _| self.members.iter().any(|member| member.slot == *slot));
        // What is put in order by numbers is, a frame later.
        let order = all.numbers_are_new;
        connections.insert(FLEET, all);
        let due = self.sums_due().into_iter().chain(self.went.due()).min();
        Settled { more: more || order, due, turns }
    }

    /// How the connections are: the merged one is live while one of them is.
    fn stand(&mut self, all: &mut Connection, connections: &Connections) {
        let (mut live, mut waiting, mut levels) = (0u32, false, Vec::new());
        let mut facts: Option<&AgentFacts> = None;
        let (mut renamed, mut there) = (false, 0);
        for member in &mut self.members {
            let Some(connection) = connections.get(&member.connection) else { continue };
            let why = out_of_reach(&connection.status);
            there += usize::from(!has_ended(&connection.status));
            member.stale_if(why.is_none());
            all.catalogue.set_beyond(member.slot, why);
            all.catalogue.set_over(member.slot, has_ended(&connection.status));
            let title = connection.title();
            renamed |= title != member.title;
            member.title = title;
            waiting |= matches!(connection.status, Status::Connecting | Status::Attaching);
            if connection.status == Status::Live {
                live += 1;
                levels.extend(connection.offered());
                if all.offered_in.get(&member.slot).is_none_or(|known| known != connection.offered()) {
                    all.offered_in.insert(member.slot, connection.offered().to_vec());
                }
                facts = facts.or(connection.facts.as_deref());
            }
        }
        levels.sort_unstable();
        levels.dedup();
        if let Some(facts) = facts.filter(|_| all.offered() != levels.as_slice()) {
            all.facts = Some(Box::new(AgentFacts { levels, holder: None, ..facts.clone() }));
        }
        // Those that are over keep their place until their modules are taken out.
        let slots = self.members.iter().map(|member| member.slot);
        if renamed || self.leaving.is_empty() && !all.catalogue.has_domains_now(slots) {
            self.name_domains(all, connections);
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
        if all.status != status {
            all.status = status;
        }
        all.name = turning::processes(there);
    }

    fn name_domains(&self, all: &mut Connection, connections: &Connections) {
        let domain =
            |member: &Member| DomainRow { id: member.slot, name: member.title.clone(), shared: false };
        let methods = self.members.iter().filter_map(|member| connections.get(&member.connection));
        let expected = methods.map(|connection| connection.catalogue.expected()).sum();
        all.catalogue.set_domains(self.members.iter().map(domain).collect(), expected);
    }

    /// What one of them is called.
    pub fn title_of(&self, connection: ConnectionId) -> &str {
        let member = self.members.iter().find(|member| member.connection == connection);
        member.map_or("", |member| &member.title)
    }
}

impl Member {
    fn new(connection: ConnectionId, slot: u64) -> Member {
        Member {
            connection,
            slot,
            title: String::new(),
            modules: HashMap::new(),
            seen: None,
            rows: HashMap::new(),
            changed: VecDeque::new(),
            unplaced: Vec::new(),
            answers: false,
            is_new: false,
            owed: Vec::new(),
            left_out: None,
            column: column::Column::default(),
        }
    }

    /// What its rows say depends on whether it answers: they are all taken over anew when that changes.
    fn stale_if(&mut self, answers: bool) {
        if self.answers != answers {
            self.answers = answers;
            self.changed.extend(self.rows.keys());
        }
    }
}

/// Why nothing of a process can be turned; None: it can.
pub fn out_of_reach(status: &Status) -> Option<String> {
    match status {
        Status::Live => None,
        Status::Connecting => Some("it has not answered yet".to_owned()),
        Status::Attaching => Some("the agent is being loaded into it".to_owned()),
        Status::Lost { retry: Retry::Never, .. } => Some("it has ended".to_owned()),
        Status::Lost { why, .. } => Some(why.clone()),
    }
}

/// Whether a process has ended: only its last numbers are left.
pub fn has_ended(status: &Status) -> bool {
    status.retry() == Some(Retry::Never)
}
