//! The numbers of several processes at once, each under its title.

use super::arguments;
use super::screen::{Drawn, View, heading};
use super::threads::{News, What, exit, watch_each};
use crate::cli::several::combined;
use crate::cli::target::Member;
use crate::exit::{Exit, Failure};
use crate::model::dials::Dials;
use crate::output::table::cut_middle;
use crate::output::{Out, terminal, words};
use crate::signals::Interrupts;
use std::sync::mpsc::Receiver;

/// Least lines of a process on a terminal: title, headings, two methods.
const LEAST: usize = 4;

/// Watches all of them, until each has ended or Ctrl-C.
pub fn run(arguments: &arguments::Watch, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    let lines = |member: &Member| {
        let mut view = View::new(member.key.pid, member.title(), arguments);
        let count = members.len();
        move |dials: &Dials| {
            let size = terminal().filter(|_| !arguments.json);
            view.lines(dials, size.map(|(columns, rows)| (columns, (rows / count.max(1)).max(LEAST))))
        }
    };
    watch_each(&members, arguments, interrupts, lines, |news| write(&members, arguments.json, news))
}

/// Writes what comes; the exit code of all.
fn write(members: &[Member], json: bool, news: &Receiver<News<Vec<String>>>) -> Result<Exit, Failure> {
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
                (What::Numbers(lines), Some(_), Some(shown)) if size.is_some() => *shown = lines,
                (What::Numbers(lines), Some(member), _) => {
                    if !std::mem::replace(&mut headed, true) {
                        out.line(&format!("{:>8}  {}", "PID", heading()))?;
                    }
                    let pid = member.key.pid;
                    let line = |line: &String| if json { line.clone() } else { format!("{pid:>8}  {line}") };
                    lines.iter().try_for_each(|text| out.line(&line(text)))?;
                }
                (What::Ended(outcome), Some(member), _) => exits.push(exit(member, outcome, &mut drawn)),
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
    fn what_does_not_fit_is_counted() {
        let member = |pid| Member { key: ProcessKey { pid, start: 1 }, name: String::new() };
        let members: Vec<Member> = (1..=5).map(member).collect();
        let shown: Vec<Vec<String>> = members.iter().map(|member| vec![member.title(); 4]).collect();
        let lines = fitted(&members, &shown, 40, 11);
        assert_eq!(lines.len(), 9, "{lines:#?}");
        assert!(lines[8].starts_with("… and 3 more"), "{lines:#?}");
        assert_eq!(fitted(&members, &shown, 80, 21)[16], "… and 1 more; a taller terminal shows it");
        assert_eq!(fitted(&members, &shown, 40, 40).len(), 20);
        assert!(fitted(&members, &shown, 20, 11).iter().all(|line| line.chars().count() <= 20));
    }
}
