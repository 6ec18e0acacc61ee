//! Combines the processes' answers to one change of the fleet into one answer.

use super::Fleet;
use super::requests::{PartialRefusal, SentChange};
use crate::connection::Connections;
use crate::ids::ConnectionId;
use crate::log::{Log, LogKind};
use crate::method_set::MethodSet;
use crate::update::Now;
use redial_protocol::report::total;
use redial_text::diagnostics::{Reader, change_warnings, reasons};
use redial_text::words;
use std::collections::BTreeMap;

/// The most refusals that rows show: the newest.
const SHOWN: usize = 200;
/// The most changes whose parts are known. More than can be undone and made again.
const KNOWN: usize = 400;

impl Fleet {
    /// Takes in the processes' answers and logs the changes that are complete.
    pub(super) fn take_replies(&mut self, connections: &mut Connections, log: &mut Log, now: Now) {
        for mut sent in std::mem::take(&mut self.requests.sent) {
            sent.collect(connections);
            if sent.waiting.is_empty() {
                self.complete(sent, log, now);
                continue;
            }
            if let Some((done, total)) = sent.progress(connections) {
                self.table.changes.progressed(sent.ticket, done, total);
            }
            self.requests.sent.push(sent);
        }
    }

    fn complete(&mut self, sent: SentChange, log: &mut Log, now: Now) {
        let changes = &mut self.table.changes;
        if sent.done.is_empty() && sent.is_refused() {
            changes.failed(sent.ticket);
            self.auto_join.failed(sent.ticket);
        } else if sent.is_off && sent.off == (0, 0) && !sent.is_refused() {
            // There is nothing to undo.
            changes.failed(sent.ticket);
        } else {
            changes.accepted(sent.ticket, now);
        }
        if let Some(made) = self.requests.made.get_mut(&sent.ticket) {
            made.retain(|part| sent.done.contains(part));
        }
        if self.requests.made.len() > KNOWN {
            self.requests.made.pop_first();
        }
        self.log_outcome(&sent, log, now);
        if sent.is_off && sent.off.1 == 0 && !sent.is_refused() {
            self.transitions.all_off_logged(now.mono);
        }
        for (id, refused) in sent.refused {
            let held = refused.holder.is_some();
            if held {
                self.requests.refusal = Some((sent.ticket, refused.clone()));
            }
            if !sent.methods.is_empty() {
                let title = self.title_of(id).to_owned();
                let methods = self.methods_of(id, &sent.methods);
                let refusal = PartialRefusal { connection: id, title, methods, why: refused.why, held };
                self.requests.partial_refusals.push(refusal);
            }
        }
        let extra = self.requests.partial_refusals.len().saturating_sub(SHOWN);
        self.requests.partial_refusals.drain(..extra);
    }

    /// Returns those of some methods that are from one process.
    fn methods_of(&self, id: ConnectionId, methods: &MethodSet) -> MethodSet {
        let modules = self.table.catalogue.modules().iter();
        let theirs = modules.filter(|module| self.owner(module.key) == Some(id));
        let inside = theirs.flat_map(|module| methods.within(&module.methods));
        inside.fold(MethodSet::default(), |mut set, range| {
            set.insert(range);
            set
        })
    }

    fn log_outcome(&self, sent: &SentChange, log: &mut Log, now: Now) {
        let (done, all) = (sent.done.len(), sent.done.len() + sent.refused.len());
        let reports = || sent.reports.iter().map(|(_, report)| report);
        let accepted = total(reports().map(|report| report.accepted));
        let matched = total(reports().map(|report| report.matched));
        let bodyless = total(reports().map(|report| report.bodyless));
        let reasons = sent.reports.iter().flat_map(|(_, report)| &report.refused_by_reason);
        let refused = total(reasons.map(|(_, number)| *number));
        // The agents' reports also count dials that go off again.
        let on_again = sent.on_again.filter(|_| done == all && refused == 0);
        let (kind, mut text) = match (sent.is_off, sent.off) {
            (true, (0, 0)) if done == all => {
                (LogKind::NoneOn, format!("all off: no dial was on in {}", words::processes(all)))
            }
            (true, (reverted, 0)) if done == all => {
                let reverted = words::grouped(reverted);
                let text = format!(
                    "all off in {}: every dial is off, {reverted} reverted to the original IL",
                    words::processes(all)
                );
                (LogKind::AllOff, text)
            }
            (true, (reverted, remaining)) => {
                let (reverted, remaining) = (words::grouped(reverted), words::grouped(remaining));
                let text = format!(
                    "{}: done in {done} of {all}, {reverted} reverted to the original IL, {remaining} not",
                    sent.words
                );
                (LogKind::Refusal, text)
            }
            (false, _) if all == 0 => (sent.done_kind, format!("{}: nothing was left to do", sent.words)),
            (false, _) => {
                let nothing_done = done == 0 || accepted == 0 && refused > 0;
                let kind = if nothing_done { LogKind::Refusal } else { sent.done_kind };
                let methods = match (matched, on_again) {
                    _ if done == 0 => None,
                    (0, _) => Some("nothing was left to do".to_owned()),
                    (_, Some(on)) => Some(format!("{} on again", words::count(on, "copy is", "copies are"))),
                    (_, None) => {
                        let (accepted, matched) = (words::grouped(accepted), words::grouped(matched));
                        Some(format!("{accepted} of {matched} copies accepted"))
                    }
                };
                let part = (done < all).then(|| format!("done in {done} of {all}"));
                let outcome: Vec<String> = part.into_iter().chain(methods).collect();
                (kind, format!("{}: {}", sent.words, outcome.join(", ")))
            }
        };
        if bodyless > 0 && on_again.is_none() {
            text.push_str(&format!(", {} without a body", words::grouped(bodyless)));
        }
        Fleet::log_line(log, now, kind, text);
        let mut reasons: BTreeMap<String, Vec<ConnectionId>> = BTreeMap::new();
        for (id, refused) in &sent.refused {
            reasons.entry(refused.why.clone()).or_default().push(*id);
        }
        for (id, report) in &sent.reports {
            for (reason, _) in &report.refused_by_reason {
                let mut named = report.refused.iter().filter(|one| one.reason == *reason);
                let method = named.next().map(|one| words::plain_parameters(&one.method));
                let method = method.map(|method| format!("{method}: ")).unwrap_or_default();
                reasons
                    .entry(format!("{method}{}", reasons::sentence(*reason, Reader::Window)))
                    .or_default()
                    .push(*id);
            }
            for warning in &report.warnings {
                let warning = change_warnings::sentence(warning, Reader::Window);
                let text = format!("{}: {warning}", self.title_of(*id));
                log.add(now, Some((*id).into()), LogKind::Notice, text);
            }
        }
        for (why, ids) in reasons {
            let text = format!("refused in {}: {why}", self.titles(&ids));
            Fleet::log_line(log, now, LogKind::Refusal, text);
        }
    }

    /// Names processes in a few words: `Shop.dll (12), Shop.dll (14) and 3 more`.
    pub(super) fn titles(&self, ids: &[ConnectionId]) -> String {
        let mut ids = ids.to_vec();
        ids.dedup();
        let first: Vec<&str> = ids.iter().take(3).map(|id| self.title_of(*id)).collect();
        match ids.len().saturating_sub(first.len()) {
            0 => first.join(", "),
            more => format!("{} and {more} more", first.join(", ")),
        }
    }
}
