//! What is told of a turn in several processes: together what came of it first, then one line or more an event; as JSON
//! one object an event where it goes on.

use crate::cli::several::{self, Report, about};
use crate::cli::target::Member;
use crate::cli::turn::Wanted;
use crate::exit::{Exit, Failure};
use crate::output::json::FollowJson;
use crate::output::{Out, sentence, words};
use redial_protocol::order::Stand;
use std::time::Instant;

/// Writes it.
pub struct Teller {
    json: bool,
    follow: bool,
    began: Instant,
}

impl Teller {
    /// In the form asked for.
    pub fn new(json: bool, follow: bool) -> Self {
        Teller { json, follow, began: Instant::now() }
    }

    /// What came of it in those that were there.
    pub fn first(&self, reports: &[Report]) -> Result<(), Failure> {
        if self.json && self.follow {
            return reports.iter().try_for_each(|report| self.event_of(report));
        }
        if reports.is_empty() { Ok(()) } else { several::tell(reports, self.json) }
    }

    /// How long the dials stand, and what it waits for.
    pub fn standing(&self, wanted: &Wanted<'_>, done: usize) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let target = wanted.target.text();
        let processes = words::count(done as u64, "process", "processes");
        let off = format!("`redial off {target}` turns them off");
        let text = match (wanted.options.stand(), self.follow) {
            (Stand::Held, true) => format!("following {target}; Ctrl-C turns all of it off"),
            (_, true) => format!("following {target}; Ctrl-C ends that and leaves dials on ({off})"),
            (_, false) if done == 0 => return Ok(()),
            (Stand::Held, false) => {
                format!("held in {processes} while this command runs; Ctrl-C turns them off")
            }
            (Stand::KeptFor { ms }, false) => {
                let time = crate::cli::duration::words(ms);
                format!("kept in {processes} for {time}, then it ends by itself; {off} before")
            }
            (Stand::Kept, false) => format!("kept in {processes} until turned off: {off}"),
        };
        self.lines(&["", &text])
    }

    /// One process, later than the others or again.
    pub fn one(&self, report: &Report, first: bool, again: bool) -> Result<(), Failure> {
        if self.json {
            if self.follow {
                return self.event_of(report);
            }
            report.say();
            return Ok(());
        }
        if report.outcome.is_ok() {
            let how = match (first, again) {
                (_, true) => "is back",
                (true, _) => "started",
                (false, _) => "joined",
            };
            let head = format!("{} {how}", report.member.title());
            self.lines(&["", &head, report.text.trim_end()])?;
        }
        report.say();
        Ok(())
    }

    /// It has ended.
    pub fn ended(&self, member: &Member) -> Result<(), Failure> {
        if self.json && self.follow {
            return self.event(member, "ended", None, None);
        }
        let text = format!("{} has ended", member.title());
        if self.follow {
            return self.lines(&["", &text]);
        }
        sentence(text);
        Ok(())
    }

    /// Its connection was lost.
    pub fn lost(&self, member: &Member, why: &str) -> Result<(), Failure> {
        if self.json && self.follow {
            return self.event(member, "lost", None, Some(why));
        }
        sentence(format!("{}; trying again", about(member, why)));
        Ok(())
    }

    /// Something that others did to it.
    pub fn said(&self, member: &Member, text: &str) -> Result<(), Failure> {
        sentence(about(member, text));
        Ok(())
    }

    fn event_of(&self, report: &Report) -> Result<(), Failure> {
        let dialled = serde_json::from_str(report.text.trim()).ok();
        match &report.outcome {
            Ok(Exit::Failed) => self.event(&report.member, "failed", dialled, None),
            Ok(_) => self.event(&report.member, "dialled", dialled, None),
            Err(failure) => self.event(&report.member, "failed", None, Some(&failure.to_string())),
        }
    }

    fn event(
        &self,
        member: &Member,
        event: &'static str,
        dialled: Option<serde_json::Value>,
        reason: Option<&str>,
    ) -> Result<(), Failure> {
        let mut out = Out::new();
        out.json(&FollowJson {
            t_ms: self.began.elapsed().as_millis() as u64,
            pid: member.key.pid,
            name: Some(member.name.as_str()).filter(|name| !name.is_empty()),
            event,
            dialled,
            reason,
        })?;
        out.flush()
    }

    fn lines(&self, lines: &[&str]) -> Result<(), Failure> {
        let mut out = Out::new();
        lines.iter().try_for_each(|line| out.line(line))?;
        out.flush()
    }
}
