//! `redial apply`: applies a dial set in one change, so that one `undo` reverts all of it.

use super::change::{self, ChangeRequest};
use super::{arguments, multi_process};
use redial_link::connect;
use redial_link::exit::{Exit, Failure};
use redial_protocol::dialset;
use redial_protocol::limits::MAX_FRAME;
use redial_protocol::order::Order;
use redial_text::words;
use redial_text::words::printable;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const PROGRAM: &str = "redial apply";
/// The largest dial set in bytes: one frame's worth of orders, and as much again for comments.
const MAX_FILE: u64 = 2 * MAX_FRAME as u64;

/// Applies a dial set.
pub fn run(arguments: &arguments::ApplyArguments) -> Result<Exit, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    let name = name_of(&arguments.file);
    let text = read(&arguments.file).map_err(|error| usage(format!("cannot read {name}: {error}")))?;
    let orders =
        dialset::parse(&text).map_err(|error| usage(format!("{name}, {error}; nothing was changed")))?;
    if orders.is_empty() {
        // Still report a process that does not exist.
        return multi_process::each(&arguments.target, arguments.change.json, |pid, out| {
            connect::open(pid, PROGRAM)?;
            out.remark(format!("{name} has no orders; nothing was changed"));
            Ok(Exit::Done)
        });
    }
    change::run(&ChangeRequest {
        target: &arguments.target,
        program: PROGRAM,
        lines: lines(&text, &orders),
        name: words::count(orders.len() as u64, "dial", "dials") + &format!(" of {name}"),
        orders,
        options: &arguments.change,
    })
}

/// Returns the name of the file for messages.
fn name_of(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { printable(&file.display().to_string()) }
}

fn read(file: &Path) -> io::Result<String> {
    if file.as_os_str() == "-" { text_of(io::stdin().lock()) } else { text_of(File::open(file)?) }
}

fn text_of(from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    if from.take(MAX_FILE + 1).read_to_end(&mut bytes)? as u64 > MAX_FILE {
        return Err(io::Error::other(format!("a dial set is at most {} long", words::bytes(MAX_FILE))));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

/// Returns the line number of each order, counted from 1.
fn lines(text: &str, orders: &[Order]) -> Vec<usize> {
    let is_order = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let lines: Vec<usize> = text
        .lines()
        .enumerate()
        .skip(1)
        .filter(|(_, line)| is_order(line))
        .map(|(index, _)| index + 1)
        .collect();
    debug_assert_eq!(lines.len(), orders.len());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn orders_keep_their_line_numbers() {
        let text = "# redial dials 1\n\n  # all of it\nA.B = count\n \t\nC.D = off domain=x\n";
        let orders = dialset::parse(text).expect("a dial set");
        assert_eq!(lines(text, &orders), [4, 6]);
    }

    #[test]
    fn refuses_binary_and_oversized_files() {
        assert_eq!(text_of(&b"# redial dials 1\n"[..]).expect("text"), "# redial dials 1\n");
        assert!(text_of(&b"\xff\xfe"[..]).is_err_and(|error| error.to_string().contains("UTF-8")));
        let endless = io::repeat(b'#');
        assert!(text_of(endless).is_err_and(|error| error.to_string().contains("at most 8.00 MiB")));
        assert_eq!(name_of(Path::new("-")), "standard input");
        assert_eq!(name_of(Path::new("a\u{1b}b")), "a\\u{1b}b");
    }

    #[test]
    fn reports_a_wrong_line_before_connecting() {
        let path = std::env::temp_dir().join(format!("redial-apply-{}.dials", std::process::id()));
        let apply = |text: &str| {
            std::fs::write(&path, text).expect("written");
            let arguments = arguments::ApplyArguments {
                target: Target::of(u32::MAX),
                file: path.clone(),
                change: arguments::ChangeArguments::default(),
            };
            run(&arguments).expect_err("it cannot be done")
        };
        let wrong = apply("# redial dials 1\nA.B = count\nA.B = loud\n");
        assert_eq!(wrong.exit(), Exit::Usage);
        assert!(wrong.to_string().contains(".dials, line 3: 'loud' is not a level"), "{wrong}");
        assert_eq!(apply("# redial dials 1\n").exit(), Exit::NoProcess, "an empty one needs a process too");
        std::fs::remove_file(&path).expect("cleaned");
        let gone = arguments::ApplyArguments {
            target: Target::of(u32::MAX),
            file: path,
            change: arguments::ChangeArguments::default(),
        };
        assert_eq!(run(&gone).expect_err("it is gone").exit(), Exit::Usage);
    }
}
