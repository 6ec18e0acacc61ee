//! Shows the numbers of several processes at once, each under its title.

use super::screen::{DrawnLines, View, heading};
use super::threads::{WatchEvent, WatchMessage, exit, watch_each};
use crate::arguments;
use crate::multi_process::combined;
use crate::output::{Out, terminal};
use crate::target::TargetProcess;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_model::dials::DialledCopies;
use redial_text::width::cut_middle;
use redial_text::words;
use std::sync::mpsc::Receiver;

/// The minimum height of a process on a terminal: title, headings, two methods.
const LEAST: usize = 4;

/// Watches all processes until each has ended or Ctrl-C.
pub fn run(arguments: &arguments::WatchArguments, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    let lines = |member: &TargetProcess| {
        let mut view = View::new(member.key.pid, member.title(), arguments);
        let count = members.len();
        move |dials: &DialledCopies| {
            let size = terminal().filter(|_| !arguments.json);
            view.lines(dials, size.map(|(columns, rows)| (columns, (rows / count.max(1)).max(LEAST))))
        }
    };
    watch_each(&members, arguments, interrupts, lines, |messages| write(&members, arguments.json, messages))
}

/// Writes the messages and returns the combined exit code.
fn write(
    members: &[TargetProcess],
    json: bool,
    messages: &Receiver<WatchMessage<Vec<String>>>,
) -> Result<Exit, Failure> {
    let mut shown: Vec<Vec<String>> = vec![Vec::new(); members.len()];
    let mut exits = Vec::with_capacity(members.len());
    let mut drawn = DrawnLines(0);
    let mut headed = json;
    while let Ok(first) = messages.recv() {
        // Draw all waiting messages at once.
        let mut more = Some(first);
        let mut out = Out::new();
        let size = terminal().filter(|_| !json);
        while let Some((place, what)) = more {
            match (what, members.get(place), shown.get_mut(place)) {
                (WatchEvent::Numbers(lines), Some(_), Some(shown)) if size.is_some() => *shown = lines,
                (WatchEvent::Numbers(lines), Some(member), _) => {
                    if !std::mem::replace(&mut headed, true) {
                        out.line(&format!("{:>8}  {}", "PID", heading()))?;
                    }
                    let pid = member.key.pid;
                    let line = |line: &String| if json { line.clone() } else { format!("{pid:>8}  {line}") };
                    lines.iter().try_for_each(|text| out.line(&line(text)))?;
                }
                (WatchEvent::Ended(outcome), Some(member), _) => {
                    exits.push(exit(member, outcome, &mut drawn))
                }
                _ => {}
            }
            more = messages.try_recv().ok();
        }
        if let Some((columns, rows)) = size {
            drawn.over(&mut out, &fitted(members, &shown, columns, rows))?;
        }
        out.flush()?;
    }
    Ok(combined(exits.into_iter()))
}

/// Returns the lines of as many processes as fit.
fn fitted(members: &[TargetProcess], shown: &[Vec<String>], columns: usize, rows: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, of_one) in shown.iter().enumerate() {
        // The last line is for the cursor, the one before it for the number of hidden processes.
        if lines.len() + of_one.len() + 2 > rows {
            let left = members.len() - place;
            let them = words::them(left as u64);
            lines.push(cut_middle(&format!("… and {left} more; a taller terminal shows {them}"), columns));
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
    fn counts_processes_that_do_not_fit() {
        let member = |pid| TargetProcess { key: ProcessKey { pid, start: 1 }, name: String::new() };
        let members: Vec<TargetProcess> = (1..=5).map(member).collect();
        let shown: Vec<Vec<String>> = members.iter().map(|member| vec![member.title(); 4]).collect();
        let lines = fitted(&members, &shown, 40, 11);
        assert_eq!(lines.len(), 9, "{lines:#?}");
        assert!(lines[8].starts_with("… and 3 more"), "{lines:#?}");
        assert_eq!(fitted(&members, &shown, 80, 21)[16], "… and 1 more; a taller terminal shows it");
        assert_eq!(fitted(&members, &shown, 40, 40).len(), 20);
        assert!(fitted(&members, &shown, 20, 11).iter().all(|line| line.chars().count() <= 20));
    }
}
