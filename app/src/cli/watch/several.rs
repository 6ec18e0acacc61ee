//! The numbers of several processes at once: a thread each that asks, and one that writes.

use super::screen::{Drawn, View, heading};
use super::{PROGRAM, arguments, ended, watch};
use crate::cli::several::{about, combined};
use crate::cli::target::Member;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::output::table::cut_middle;
use crate::output::{Out, sentence, terminal};
use crate::signals::Interrupts;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Folds that wait to be written; whoever has more waits itself, and its agent leaves updates out and counts them.
const WAITING: usize = 64;
/// Least lines of a process on a terminal: title, headings, two methods.
const LEAST: usize = 4;

/// What a process's thread has to tell: its place among all, and what.
type News = (usize, What);

enum What {
    Lines(Vec<String>),
    Ended(Result<Exit, Failure>),
}

/// Watches all of them, until each has ended or Ctrl-C.
pub fn run(arguments: &arguments::Watch, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    let (sender, news) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        for (place, member) in members.iter().enumerate() {
            let (sender, count) = (sender.clone(), members.len());
            scope.spawn(move || {
                let outcome = one(member, arguments, interrupts, (place, count), &sender);
                // Nobody listens any more when the output was closed.
                let _ = sender.send((place, What::Ended(outcome)));
            });
        }
        drop(sender);
        let written = write(&members, arguments.json, &news);
        drop(news);
        if written.is_err() {
            interrupts.stop();
        }
        written
    })
}

fn one(
    member: &Member,
    arguments: &arguments::Watch,
    interrupts: &Interrupts,
    (place, count): (usize, usize),
    sender: &SyncSender<News>,
) -> Result<Exit, Failure> {
    let pid = member.key.pid;
    let mut view = View::new(pid, member.title(), arguments);
    let mut session = connect::open(pid, PROGRAM)?;
    interrupts.deliver_to(session.interrupter());
    let show = &mut |dials: &_| {
        let size = terminal().filter(|_| !arguments.json);
        let share = size.map(|(columns, rows)| (columns, (rows / count.max(1)).max(LEAST)));
        let lines = view.lines(dials, share)?;
        sender.send((place, What::Lines(lines))).map_err(|_| Failure::ClosedPipe)
    };
    ended(watch(&mut session, arguments, show, &|text| sentence(about(member, &text))))
}

/// Writes what comes; the exit code of all.
fn write(members: &[Member], json: bool, news: &Receiver<News>) -> Result<Exit, Failure> {
    let mut shown: Vec<Vec<String>> = vec![Vec::new(); members.len()];
    let mut exits = Vec::with_capacity(members.len());
    let mut drawn = Drawn(0);
    let mut headed = json;
    while let Ok(first) = news.recv() {
        // All that is there is drawn at once.
        let mut more = Some(first);
        let mut out = Out::new();
        let size = terminal().filter(|_| !json);
        while let Some((place, what)) = more {
            match (what, members.get(place), shown.get_mut(place)) {
                (What::Lines(lines), Some(_), Some(shown)) if size.is_some() => *shown = lines,
                (What::Lines(lines), Some(member), _) => {
                    if !std::mem::replace(&mut headed, true) {
                        out.line(&format!("{:>8}  {}", "PID", heading()))?;
                    }
                    let pid = member.key.pid;
                    let line = |line: &String| if json { line.clone() } else { format!("{pid:>8}  {line}") };
                    lines.iter().try_for_each(|text| out.line(&line(text)))?;
                }
                (What::Ended(outcome), Some(member), _) => {
                    exits.push(outcome.as_ref().map_or_else(Failure::exit, |exit| *exit));
                    if let Err(failure @ Failure::Sentence { .. }) = outcome {
                        // What stood on the terminal stays above the sentence.
                        drawn = Drawn(0);
                        sentence(about(member, &failure.to_string()));
                    }
                }
                _ => {}
            }
            more = news.try_recv().ok();
        }
        if let Some((columns, rows)) = size {
            drawn.over(&mut out, &fitted(members, &shown, columns, rows))?;
        }
        out.flush()?;
    }
    Ok(combined(exits.into_iter()))
}

/// As many processes as there is room for.
fn fitted(members: &[Member], shown: &[Vec<String>], columns: usize, rows: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, of_one) in shown.iter().enumerate() {
        // The last line is for the cursor, the one before it for what has no room.
        if lines.len() + of_one.len() + 2 > rows {
            let left = members.len() - place;
            lines.push(cut_middle(&format!("… and {left} more; a taller terminal shows them"), columns));
            break;
        }
        lines.extend_from_slice(of_one);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ProcessKey;

    #[test]
    fn what_does_not_fit_is_counted() {
        let member = |pid| Member { key: ProcessKey { pid, start: 1 }, name: String::new() };
        let members: Vec<Member> = (1..=5).map(member).collect();
        let shown: Vec<Vec<String>> = members.iter().map(|member| vec![member.title(); 4]).collect();
        let lines = fitted(&members, &shown, 40, 11);
        assert_eq!(lines.len(), 9, "{lines:#?}");
        assert!(lines[8].starts_with("… and 3 more"), "{lines:#?}");
        assert_eq!(fitted(&members, &shown, 40, 40).len(), 20);
        assert!(fitted(&members, &shown, 20, 11).iter().all(|line| line.chars().count() <= 20));
    }
}
