//! Reports a change in several processes: first all results together, then lines per event. With `--follow --json`, one
//! object per event.

use crate::change::request::ChangeRequest;
use crate::multi_process::{self, ProcessResult, about};
use crate::output::json::FollowJson;
use crate::output::{Out, sentence};
use crate::target::TargetProcess;
use redial_link::exit::{Exit, Failure};
use redial_protocol::order::Lifetime;
use redial_text::words;
use std::time::Instant;

/// Prints the results and events.
pub struct FleetReporter {
    json: bool,
    follow: bool,
    began: Instant,
}

impl FleetReporter {
    /// Makes a reporter for text or JSON.
    pub fn new(json: bool, follow: bool) -> Self {
        FleetReporter { json, follow, began: Instant::now() }
    }

    /// Reports the first results.
    pub fn first(&self, reports: &[ProcessResult]) -> Result<(), Failure> {
        if self.json && self.follow {
            return reports.iter().try_for_each(|report| self.event_of(report));
        }
        if reports.is_empty() { Ok(()) } else { multi_process::print_all(reports, self.json) }
    }

    /// Reports the lifetime of the dials and, with `--follow`, the target.
    pub fn lifetime(&self, wanted: &ChangeRequest<'_>, done: usize) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let target = wanted.target.text();
        let processes = words::count(done as u64, "process", "processes");
        let off = format!("`redial off {target}` turns them off");
        let text = match (wanted.options.lifetime(), self.follow) {
            (Lifetime::Held, true) => format!("following {target}; Ctrl-C turns all dials off"),
            (_, true) => format!("following {target}; Ctrl-C stops following and leaves dials on ({off})"),
            (_, false) if done == 0 => return Ok(()),
            (Lifetime::Held, false) => {
                format!("held in {processes} while this command runs; Ctrl-C turns them off")
            }
            (Lifetime::KeptFor { ms }, false) => {
                let time = crate::duration::words(ms);
                format!("kept in {processes} for {time}; {off} earlier")
            }
            (Lifetime::Kept, false) => format!("kept in {processes} until turned off: {off}"),
        };
        self.lines(&["", &text])
    }

    /// Reports one process that joined or came back later.
    pub fn one(&self, report: &ProcessResult, first: bool, again: bool) -> Result<(), Failure> {
        if self.json {
            if self.follow {
                return self.event_of(report);
            }
            report.print_remarks();
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
        report.print_remarks();
        Ok(())
    }

    /// Reports the end of a process.
    pub fn ended(&self, member: &TargetProcess) -> Result<(), Failure> {
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

    /// Reports a lost connection.
    pub fn lost(&self, member: &TargetProcess, why: &str) -> Result<(), Failure> {
        if self.json && self.follow {
            return self.event(member, "lost", None, Some(why));
        }
        sentence(format!("{}; reconnecting", about(member, why)));
        Ok(())
    }

    /// Reports an action of another controller.
    pub fn notice(&self, member: &TargetProcess, text: &str) -> Result<(), Failure> {
        sentence(about(member, text));
        Ok(())
    }

    fn event_of(&self, report: &ProcessResult) -> Result<(), Failure> {
        let dialled = serde_json::from_str(report.text.trim()).ok();
        match &report.outcome {
            Ok(Exit::Failed) => self.event(&report.member, "failed", dialled, None),
            Ok(_) => self.event(&report.member, "dialled", dialled, None),
            Err(failure) => self.event(&report.member, "failed", None, Some(&failure.to_string())),
        }
    }

    fn event(
        &self,
        member: &TargetProcess,
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
