//! Turns of a session that are on their way. The session reads on meanwhile, so that later turns can be merged with
//! earlier ones and "all off" waits for none; each answer goes out when the ReJIT thread has it.
#![forbid(unsafe_code)]

use super::control::Claim;
use super::session::Session;
use crate::planner::Owner;
use crate::rejit::{Answer, Job, Progress, Turn, TurnResult, Wish};
use crate::sync::lock;
use redial_protocol::cost::{NotABudget, Share};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_KEPT_FOR_MS, MAX_ORDERS, MAX_PATTERN, MAX_TURNS};
use redial_protocol::message::{Event, Refusal, Reply};
use redial_protocol::order::{Order, Stand};
use redial_protocol::packet::FromAgent;
use redial_protocol::pattern::Pattern;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Plans count like so many bytes of orders, so that a session has four on their way at most: they take the ReJIT
/// thread's time.
const PLAN_WEIGHT: usize = MAX_FRAME / 4;
/// Longest wait for the CLR to take a turn before the session is told that it hangs.
const TURN_WAIT: Duration = Duration::from_secs(30);

/// The turns that have no answer yet.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// By number.
    turns: BTreeMap<u64, Wait>,
}

#[derive(Debug)]
struct Wait {
    request: u32,
    since: Instant,
    /// Bytes of its patterns.
    bytes: usize,
    /// The session was told that the CLR hangs; the answer is not sent any more.
    told: bool,
    /// Set by `Cancel`.
    cancelled: Arc<AtomicBool>,
}

impl Turns {
    /// Notes a turn; its number. None when too many, or too many bytes, wait.
    fn begin(&self, request: u32, bytes: usize) -> Option<(u64, Arc<AtomicBool>)> {
        let mut waiting = lock(&self.0);
        let before: usize = waiting.turns.values().map(|wait| wait.bytes).sum();
        if waiting.turns.len() >= MAX_TURNS || (before > 0 && before + bytes > MAX_FRAME) {
            return None;
        }
        waiting.next += 1;
        let number = waiting.next;
        let cancelled = Arc::default();
        let wait =
            Wait { request, since: Instant::now(), bytes, told: false, cancelled: Arc::clone(&cancelled) };
        waiting.turns.insert(number, wait);
        Some((number, cancelled))
    }

    /// Makes the turns with that request id end as soon as they can.
    pub fn cancel(&self, request: u32) {
        for wait in lock(&self.0).turns.values().filter(|wait| wait.request == request) {
            wait.cancelled.store(true, Ordering::Release);
        }
    }

    /// Whether there are any: a peer that waits for an answer may be silent.
    pub fn wait(&self) -> bool {
        lock(&self.0).turns.values().any(|wait| !wait.told)
    }

    /// Whether the turn still waited for its answer.
    fn end(&self, number: u64) -> bool {
        lock(&self.0).turns.remove(&number).is_some_and(|wait| !wait.told)
    }

    /// The requests that have waited for `longest`, each once. They count as waiting until they end.
    fn overdue(&self, longest: Duration) -> Vec<u32> {
        let mut waiting = lock(&self.0);
        let late = waiting.turns.values_mut().filter(|wait| !wait.told && wait.since.elapsed() >= longest);
        late.map(|wait| {
            wait.told = true;
            wait.request
        })
        .collect()
    }
}

impl Session {
    /// Hands a turn to the ReJIT thread, or answers why not. False ends the session.
    pub(super) fn turn(&mut self, id: u32, change: Wish, take: bool) -> bool {
        let (orders, held) = match &change {
            Wish::Add { orders, stand, .. } => (orders.as_slice(), *stand == Stand::Held),
            Wish::Undo | Wish::TakeBack(_) | Wish::Budget(_) => (&[][..], false),
        };
        let checked = match &change {
            // Control is taken, and nothing is turned.
            Wish::Add { orders, later: true, .. } if orders.is_empty() && take => Ok(()),
            Wish::Add { orders, stand, .. } => check(orders).and_then(|()| check_time(*stand)),
            Wish::Undo | Wish::TakeBack(_) => Ok(()),
            Wish::Budget(limit) => check_budget(*limit),
        };
        let begun = checked.and_then(|()| self.begin(id, orders, 0));
        let (number, cancelled) = match begun {
            Ok(begun) => begun,
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        };
        // Before the turn: should its answer not come in time, it may still take effect.
        self.holds |= held;
        let outbox = self.outbox.clone();
        let tell = move |done, total| {
            let frame = FromAgent::Event(Event::Progress { id, done, total }).to_frame();
            outbox.put_at_once(frame.unwrap_or_default());
        };
        self.agent.inbox.put(Job::Turn(Turn {
            change,
            claim: Claim { session: self.id, who: self.who(), take, stays: held },
            user: self.user().to_owned(),
            progress: Progress::new(cancelled, Box::new(tell)),
            answer: self.answer(id, number),
        }));
        true
    }

    /// Has the ReJIT thread plan. False ends the session.
    pub(super) fn plan(&self, id: u32, orders: Vec<Order>, stand: Stand) -> bool {
        let checked = check(&orders).and_then(|()| check_time(stand));
        match checked.and_then(|()| self.begin(id, &orders, PLAN_WEIGHT)) {
            Ok((number, _)) => {
                let owner = Owner::of(stand, self.id, Instant::now());
                self.agent.inbox.put(Job::Plan(orders, owner, self.answer(id, number)));
            }
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        }
        true
    }

    /// Has the ReJIT thread end what this session holds. False ends the session.
    pub(super) fn let_go(&mut self, id: u32) -> bool {
        match self.begin(id, &[], 0) {
            Ok((number, _)) => {
                // Its silence is no danger any more.
                self.holds = false;
                self.agent.inbox.put(Job::LetGo(self.id, self.answer(id, number)));
            }
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        }
        true
    }

    /// Notes that a command is on its way: its number, and what cancels it. `weight`: bytes beside those of its orders.
    fn begin(&self, id: u32, orders: &[Order], weight: usize) -> Result<(u64, Arc<AtomicBool>), Refusal> {
        let of_order = |order: &Order| {
            size_of::<Order>() + order.pattern.len() + order.domain.as_ref().map_or(0, String::len)
        };
        let bytes = weight + orders.iter().map(of_order).sum::<usize>();
        // Whoever does not read its answers gets no more of them.
        let begun = if self.outbox.is_backed_up() { None } else { self.turns.begin(id, bytes) };
        begun.ok_or_else(|| {
            Refusal::OverLimit(format!(
                "more than {MAX_TURNS} turns, or {MAX_FRAME} bytes of them, wait; read the answers first"
            ))
        })
    }

    fn answer(&self, id: u32, number: u64) -> Answer {
        let (outbox, turns) = (self.outbox.clone(), self.turns.clone());
        Answer::new(move |result: TurnResult| {
            if turns.end(number) {
                outbox.put_at_once(reply_frame(id, result.unwrap_or_else(Reply::Refused)));
            }
        })
    }

    /// Tells of turns that the CLR does not answer. False ends the session.
    pub(super) fn tell_overdue_turns(&self) -> bool {
        let sentence =
            "the runtime has not answered RequestReJIT for 30 seconds; the dial may still take effect";
        self.turns.overdue(TURN_WAIT).into_iter().all(|id| {
            self.send(Event::Reply { id, reply: Reply::Refused(Refusal::AgentOff(sentence.into())) })
        })
    }
}

/// The frame of a reply, or of the refusal that says why there is none.
pub(super) fn reply_frame(id: u32, reply: Reply) -> Vec<u8> {
    let frame = |reply| FromAgent::Event(Event::Reply { id, reply }).to_frame();
    frame(reply)
        .or_else(|e| {
            frame(Reply::Refused(Refusal::OverLimit(format!("the answer does not fit a frame: {e}"))))
        })
        .unwrap_or_default()
}

/// `off` for each pattern.
pub(super) fn off(patterns: Vec<String>) -> Vec<Order> {
    patterns.into_iter().map(|pattern| Order::new(pattern, Level::Off)).collect()
}

fn check(orders: &[Order]) -> Result<(), Refusal> {
    if orders.is_empty() {
        return Err(Refusal::BadPattern("no order was given".into()));
    }
    if orders.len() > MAX_ORDERS {
        return Err(Refusal::OverLimit(format!(
            "{} orders in one command; the limit is {MAX_ORDERS}",
            orders.len()
        )));
    }
    for order in orders {
        if order.pattern.len() > MAX_PATTERN {
            return Err(Refusal::OverLimit(format!("a pattern is longer than {MAX_PATTERN} bytes")));
        }
        if order.domain.as_ref().is_some_and(|domain| domain.len() > MAX_PATTERN) {
            return Err(Refusal::OverLimit(format!("a domain's name is longer than {MAX_PATTERN} bytes")));
        }
        Pattern::parse(&order.pattern).map_err(|e| Refusal::BadPattern(e.to_string()))?;
    }
    Ok(())
}

fn check_budget(limit: Option<Share>) -> Result<(), Refusal> {
    match limit {
        Some(limit) if limit == Share(0) || limit > Share::MOST => {
            Err(Refusal::OverLimit(NotABudget.to_string()))
        }
        _ => Ok(()),
    }
}

fn check_time(stand: Stand) -> Result<(), Refusal> {
    match stand {
        Stand::KeptFor { ms } if ms == 0 || ms > MAX_KEPT_FOR_MS => Err(Refusal::OverLimit(format!(
            "dials are kept for 1 to {MAX_KEPT_FOR_MS} milliseconds, not for {ms}"
        ))),
        _ => Ok(()),
    }
}
