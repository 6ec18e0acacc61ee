//! Answers of the right kind to every request, with lies inside.

use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::{MethodPage, StringColumn};
use redial_protocol::counters::CounterDelta;
use redial_protocol::exceptions::{ThrownException, ThrownRow};
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::holder::Holder;
use redial_protocol::ids::{ModuleKey, ProcessKey};
use redial_protocol::il::IlPage;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Refusal, Reply, Request, StatusRow, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::trace::{TracedCall, TracedMethod};

use crate::lie::Liar;
use crate::server::{PacketSender, Script};

/// Events of a subscription before it ends or rests.
const SUBSCRIPTION: u64 = 40;

/// The answers of one connection.
pub struct Answers {
    liar: Liar,
    /// How long a subscription goes on.
    stays: bool,
}

impl Answers {
    /// Lies by the given generator.
    pub fn new(liar: Liar) -> Answers {
        Answers { liar, stays: false }
    }

    fn facts(&mut self) -> AgentFacts {
        let liar = &mut self.liar;
        AgentFacts {
            // Another version ends most commands at once.
            protocol: if liar.one_in(30) { liar.number() as u32 } else { PROTOCOL_VERSION },
            agent_version: liar.name(),
            process: ProcessKey { pid: liar.number() as u32, start: liar.number() },
            runtime_kind: RuntimeKind::from_byte(liar.number() as u8),
            runtime_version: liar.name(),
            levels: (0..liar.below(300)).map(|_| liar.pick(&Level::ALL)).collect(),
            holder: liar.one_in(2).then(|| Holder { pid: liar.number() as u32, program: liar.name() }),
            live: liar.number(),
            kept: liar.number(),
            held: liar.number(),
            clr_kept_bytes: liar.number(),
        }
    }

    /// Sends a packet, at times with changed bytes. Then the answer may miss its end, so the connection ends.
    fn send(&mut self, packet: &AgentPacket, to: &mut PacketSender) -> bool {
        if !self.liar.one_in(60) {
            return to.send(packet);
        }
        let Ok(frame) = packet.to_frame() else { return to.send(packet) };
        let mut body = frame[4..].to_vec();
        self.liar.mutate(&mut body);
        to.bytes(&(body.len() as u32).to_le_bytes());
        to.bytes(&body);
        false
    }

    fn event(&mut self, event: Event, to: &mut PacketSender) -> bool {
        self.send(&AgentPacket::Event(event), to)
    }

    /// Sends any packet that nobody asked for.
    fn unasked(&mut self, to: &mut PacketSender) -> bool {
        let packet = match self.liar.below(40) {
            0 => AgentPacket::Hello(self.facts()),
            1 => AgentPacket::Status(self.facts()),
            2 => AgentPacket::VersionRefused {
                agent_protocol: self.liar.number() as u32,
                agent_version: self.liar.text(),
                message: self.liar.text(),
            },
            _ => AgentPacket::Event(self.liar.lie()),
        };
        self.send(&packet, to)
    }

    fn request(&mut self, request: &Request, to: &mut PacketSender) -> bool {
        let Request { id, command } = request;
        while self.liar.one_in(4) {
            if !self.unasked(to) {
                return false;
            }
        }
        if self.liar.one_in(50) {
            return false;
        }
        let Some(reply) = self.pages_and_reply(*id, command, to) else { return false };
        let reply = match self.liar.below(60) {
            0..5 => Reply::Refused(self.liar.lie::<Refusal>()),
            5 => self.liar.lie(),
            6 => {
                let id = id.wrapping_add(1);
                self.event(Event::Reply { id, reply: reply.clone() }, to);
                reply
            }
            _ => reply,
        };
        if !self.event(Event::Reply { id: *id, reply }, to) {
            return false;
        }
        match command {
            WireCommand::Subscribe { .. } => self.subscription(to),
            WireCommand::StreamCalls { .. } => self.stream(to),
            WireCommand::StreamExceptions { .. } => {
                let exceptions = self.exceptions();
                self.event(exceptions, to)
            }
            _ => true,
        }
    }

    /// Sends the pages of an answer and returns the reply of its kind.
    fn pages_and_reply(&mut self, id: u32, command: &WireCommand, to: &mut PacketSender) -> Option<Reply> {
        Some(match command {
            WireCommand::Modules => {
                let liar = &mut self.liar;
                Reply::Modules { domains: liar.lie(), modules: liar.lie() }
            }
            WireCommand::Methods { .. } => {
                let mut sent = 0;
                for _ in 0..self.liar.pick(&[0, 1, 1, 1, 2, 20]) {
                    let page = page(&mut self.liar);
                    sent += page.token.len() as u64;
                    self.event(Event::Methods { id, page }, to).then_some(())?;
                }
                let matched = if self.liar.one_in(4) { self.liar.number() } else { sent };
                Reply::Methods { matched, suggestions: self.liar.lie() }
            }
            WireCommand::RequestReJit { .. } | WireCommand::RequestRevert { .. } => {
                for _ in 0..self.liar.below(4) {
                    let (done, total) = (self.liar.number(), self.liar.number());
                    self.event(Event::Progress { id, done, total }, to).then_some(())?;
                }
                Reply::Dialled(self.liar.lie())
            }
            WireCommand::Plan { .. } => Reply::Plan(self.liar.lie()),
            WireCommand::Undo { .. } | WireCommand::UndoChange { .. } => {
                Reply::Undone { entry: self.liar.lie(), report: self.liar.lie() }
            }
            WireCommand::Orders => Reply::Orders { orders: self.liar.lie(), undoable: self.liar.lie() },
            WireCommand::Status { .. } => {
                let mut sent = 0;
                for _ in 0..self.liar.pick(&[0, 1, 2, 20]) {
                    let rows: Vec<StatusRow> = self.liar.lie();
                    sent += rows.len() as u64;
                    self.event(Event::Rows { id: Some(id), rows }, to).then_some(())?;
                    let times = self.liar.lie();
                    self.event(Event::Times { id: Some(id), times }, to).then_some(())?;
                }
                Reply::Status { rows: if self.liar.one_in(6) { self.liar.number() } else { sent } }
            }
            WireCommand::AgentStatus => Reply::AgentStatus(self.liar.lie()),
            WireCommand::Il { .. } => {
                let mut sent = 0;
                for _ in 0..self.liar.pick(&[0, 1, 2, 20]) {
                    let page: IlPage = self.liar.lie();
                    sent += page.lines.len() as u64;
                    self.event(Event::Il { id, page }, to).then_some(())?;
                }
                let body: redial_protocol::il::IlBody = self.liar.lie();
                let lines = if self.liar.one_in(6) { body.lines } else { sent };
                Reply::Il(redial_protocol::il::IlBody { lines, ..body })
            }
            WireCommand::Histogram { .. } => Reply::Histogram(self.liar.lie()),
            WireCommand::SetBudget { .. } => Reply::Budget(self.liar.lie()),
            WireCommand::SlowestCalls { .. } => Reply::SlowestCalls(self.liar.lie()),
            WireCommand::Callers { .. } => Reply::Callers(self.liar.lie()),
            WireCommand::Calls { .. } => {
                let mut sent = 0;
                for _ in 0..self.liar.pick(&[0, 1, 1, 2, 20]) {
                    let page = calls(Some(id), &mut self.liar);
                    if let Event::Calls { calls, .. } = &page {
                        sent += calls.len() as u64;
                    }
                    self.event(page, to).then_some(())?;
                }
                Reply::Calls { calls: if self.liar.one_in(6) { self.liar.number() } else { sent } }
            }
            WireCommand::ReleaseHeld => Reply::ReleaseHeld {
                reverted: self.liar.number(),
                stay: self.liar.number(),
                remaining: self.liar.number(),
            },
            WireCommand::Subscribe { .. } => {
                let rows = self.liar.lie();
                self.event(Event::Rows { id: None, rows }, to).then_some(())?;
                Reply::Done
            }
            WireCommand::Cancel { .. }
            | WireCommand::Unsubscribe
            | WireCommand::ReleaseControl
            | WireCommand::StreamCalls { .. }
            | WireCommand::StopCalls
            | WireCommand::StreamExceptions { .. }
            | WireCommand::StopExceptions
            | WireCommand::Ping => Reply::Done,
        })
    }

    /// Returns a page of exceptions, most of which refer to rows that were sent.
    fn exceptions(&mut self) -> Event {
        let liar = &mut self.liar;
        let mut rows: Vec<ThrownRow> = Vec::new();
        for number in 0..liar.pick(&[0, 1, 3, 60]) {
            let row: ThrownRow = liar.lie();
            rows.push(ThrownRow { row: if liar.one_in(6) { row.row } else { number }, ..row });
        }
        let mut exceptions: Vec<ThrownException> = Vec::new();
        for number in 0..liar.pick(&[0, 1, 3, 60]) {
            let exception: ThrownException = liar.lie();
            exceptions.push(ThrownException { row: number, ..exception });
        }
        Event::Exceptions { rows, counts: liar.lie(), exceptions, totals: liar.lie() }
    }

    /// Sends calls before the dial that causes them.
    fn stream(&mut self, to: &mut PacketSender) -> bool {
        (0..self.liar.below(4)).all(|_| {
            let page = calls(None, &mut self.liar);
            self.event(page, to)
        })
    }

    /// Sends events of a subscription. The numbers of some go on, as a watch expects.
    fn subscription(&mut self, to: &mut PacketSender) -> bool {
        let mut t_ms = self.liar.number();
        for _ in 0..self.liar.below(SUBSCRIPTION) {
            let liar = &mut self.liar;
            let event = match liar.below(7) {
                0 => Event::Rows { id: None, rows: liar.lie() },
                1 => Event::Times { id: None, times: liar.lie() },
                2 => Event::Transition(liar.lie()),
                3 => {
                    t_ms = if liar.one_in(2) { t_ms.wrapping_add(liar.below(20)) } else { liar.number() };
                    let delta: CounterDelta = liar.lie();
                    Event::Counters { delta: CounterDelta { t_ms, ..delta }, dropped: liar.number() }
                }
                4 => Event::Budget(liar.lie()),
                5 => calls(None, liar),
                _ => liar.lie(),
            };
            if !self.event(event, to) {
                return false;
            }
        }
        self.stays
    }
}

impl Script for Answers {
    fn answer(&mut self, packet: &ControllerPacket, to: &mut PacketSender) -> bool {
        match packet {
            ControllerPacket::Hello(hello) => {
                // The others would wait for the end of the connection.
                self.stays = matches!(hello.program.as_str(), "redial watch" | "redial app");
                let facts = self.facts();
                self.send(&AgentPacket::Hello(facts), to)
            }
            ControllerPacket::Status => {
                let facts = self.facts();
                self.send(&AgentPacket::Status(facts), to)
            }
            ControllerPacket::AllOff => {
                let [reverted, remaining, change] = [(); 3].map(|()| self.liar.number());
                self.send(&AgentPacket::AllOffDone { reverted, remaining, change }, to)
            }
            ControllerPacket::Request(request) => self.request(request, to),
        }
    }
}

/// Returns a page of methods whose parts mostly fit together. `il` goes on only with a single method.
fn page(liar: &mut Liar) -> MethodPage {
    if liar.one_in(12) {
        return liar.lie();
    }
    let count = liar.pick(&[1, 1, 1, 2, 5, 60]);
    let types = 1 + liar.below(3);
    let modules = 1 + liar.below(4);
    let mut page = MethodPage::default();
    for _ in 0..modules {
        page.modules.push(ModuleKey { module_id: liar.number(), generation: liar.number() as u32 });
    }
    for _ in 0..types {
        push(&mut page.type_names, liar);
    }
    for _ in 0..count {
        page.module.push(index(liar, modules));
        page.type_index.push(index(liar, types));
        page.token.push(liar.number() as u32);
        push(&mut page.name, liar);
        push(&mut page.signature, liar);
        if liar.one_in(5) {
            page.mark_bodyless(liar.lie());
        }
    }
    match liar.below(20) {
        0 => page.signature = liar.lie(),
        1 => page.type_names.ends.reverse(),
        2 => page.bodyless = liar.lie(),
        3 => page.name.ends.iter_mut().for_each(|end| *end = end.wrapping_sub(1)),
        _ => {}
    }
    page
}

/// Returns a page of calls, most of which refer to methods that were sent. A lie as a whole is short: long lists of
/// parameters and values are over their limits.
fn calls(id: Option<u32>, liar: &mut Liar) -> Event {
    let mut methods: Vec<TracedMethod> = Vec::new();
    for _ in 0..liar.pick(&[0, 1, 1, 3, 60]) {
        methods.push(liar.lie());
    }
    let mut calls: Vec<TracedCall> = Vec::new();
    for _ in 0..liar.pick(&[0, 1, 1, 3, 60]) {
        let call: TracedCall = liar.lie();
        let plans: Vec<u32> = methods.iter().map(|method| method.plan).collect();
        let plan = if plans.is_empty() || liar.one_in(6) { call.plan } else { liar.pick(&plans) };
        calls.push(TracedCall { plan, ..call });
    }
    Event::Calls { id, methods, calls, dropped: liar.lie(), unread: liar.number() }
}

fn push(column: &mut StringColumn, liar: &mut Liar) {
    let name = liar.name();
    column.push(&name);
}

fn index(liar: &mut Liar, count: u64) -> u32 {
    if liar.one_in(60) { liar.number() as u32 } else { liar.below(count) as u32 }
}
