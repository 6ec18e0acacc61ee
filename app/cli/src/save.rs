//! `redial save`: writes the standing orders as a dial set that `apply` reads.

use super::target::{Target, TargetProcess};
use super::{arguments, duration};
use crate::output::{Out, sentence};
use redial_link::atomic_write::AtomicFile;
use redial_link::connect;
use redial_link::discover::user_title;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_protocol::dialset;
use redial_protocol::limits::MAX_ORDERS;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::{Lifetime, Order, StandingOrder};
use redial_text::{programs, words};
use std::io;
use std::path::Path;

/// Saves the standing orders.
pub fn run(arguments: &arguments::SaveArguments) -> Result<Exit, Failure> {
    let mut session = connect::open(single_process(&arguments.target)?, "redial save")?;
    let (orders, _) = ask(&mut session)?;
    if orders.len() > MAX_ORDERS {
        let (number, most) = (words::grouped(orders.len() as u64), words::grouped(MAX_ORDERS as u64));
        return Err(Failure::new(
            Exit::Failed,
            format!(
                "{number} orders are standing, but a dial set holds at most {most}; `redial status PID --agent` lists them"
            ),
        ));
    }
    let text = text(&orders);
    if !reads_back(&text, &orders) {
        let why = "its orders do not form a dial set".to_owned();
        return Err(LinkError::Garbled { pid: session.pid(), why }.into());
    }
    match arguments.file.as_deref().filter(|file| file.as_os_str() != "-") {
        None => {
            let mut out = Out::new();
            out.text(&text)?;
            out.flush()?;
        }
        Some(file) => {
            write(file, &text, arguments.force)?;
            sentence(format!("{} saved", words::count(orders.len() as u64, "order", "orders")));
        }
    }
    Ok(Exit::Done)
}

/// Returns the only process of the target: a dial set describes one process.
fn single_process(target: &Target) -> Result<u32, Failure> {
    if let Some(pid) = target.only() {
        return Ok(pid);
    }
    match target.find()?.as_slice() {
        [only] => Ok(only.key.pid),
        several => {
            let titles: Vec<String> = several.iter().map(TargetProcess::title).collect();
            let text =
                format!("`redial save` saves one process at a time; this matches {}", words::all(&titles));
            Err(Failure::new(Exit::Usage, text))
        }
    }
}

/// Asks the agent for the standing orders, oldest first, and the number of changes that can be undone.
pub fn ask(session: &mut Session) -> Result<(Vec<StandingOrder>, u32), LinkError> {
    match session.ask(WireCommand::Orders, &mut |_| {})? {
        Reply::Orders { orders, undoable } => Ok((orders, undoable)),
        _ => Err(session.wrong_reply()),
    }
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let written = AtomicFile::create(file).and_then(|whole| match force {
        true => whole.write(text.as_bytes()),
        false => whole.write_new(text.as_bytes()),
    });
    written.map_err(|error| {
        let advice = if error.kind() == io::ErrorKind::AlreadyExists { " (--force replaces it)" } else { "" };
        Failure::new(Exit::Failed, format!("cannot write the dial set: {error}{advice}"))
    })
}

/// Returns the dial set, with a comment wherever the lifetime or author of the orders changes.
fn text(orders: &[StandingOrder]) -> String {
    let mut text = dialset::header(orders.iter().map(|standing| &standing.order));
    let mut last_comment = String::new();
    for standing in orders {
        let comment = format!("# {}, set by {}", lifetime(standing.lifetime), author(standing));
        if comment != last_comment {
            text.push_str(&comment);
            text.push('\n');
            last_comment = comment;
        }
        text.push_str(&dialset::print_order(&standing.order));
        text.push('\n');
    }
    text
}

/// Returns whether `apply` reads exactly these orders from the text. A faulty agent may send patterns that read as
/// something else.
fn reads_back(text: &str, orders: &[StandingOrder]) -> bool {
    let read = dialset::parse(text).unwrap_or_default();
    let same = |(read, standing): (&Order, &StandingOrder)| {
        read.pattern == standing.order.pattern.trim()
            && Order { pattern: String::new(), ..read.clone() }
                == Order { pattern: String::new(), ..standing.order.clone() }
    };
    read.len() == orders.len() && read.iter().zip(orders).all(same)
}

/// Formats the lifetime of an order.
pub fn lifetime(lifetime: Lifetime) -> String {
    match lifetime {
        Lifetime::Held => "held".to_owned(),
        Lifetime::Kept => "kept".to_owned(),
        Lifetime::KeptFor { ms } => format!("kept for another {}", duration::words(ms)),
    }
}

/// Names the program and user that set an order, on one line.
pub fn author(standing: &StandingOrder) -> String {
    let program = programs::title(&standing.by.program);
    match standing.user.as_str() {
        "" => format!("{program} at the start"),
        user => format!("{program} (pid {}, user {})", standing.by.pid, words::one_line(&user_title(user))),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use redial_protocol::level::Level;
    use redial_protocol::message::Holder;

    /// Returns orders of every lifetime.
    pub fn standing() -> Vec<StandingOrder> {
        let one = |pattern: &str, lifetime, user: &str| StandingOrder {
            order: Order::new(pattern, Level::Count),
            lifetime,
            user: user.to_owned(),
            by: Holder { pid: 7, program: "redial\ndial".into() },
        };
        let mut orders = vec![
            one("Shop.Cart.*", Lifetime::Kept, ""),
            one("Shop.Order.*", Lifetime::KeptFor { ms: 90_000 }, "www"),
            one("Shop.Money.*", Lifetime::Held, "www"),
            one("*.Add(int\\*)", Lifetime::Held, "www"),
        ];
        orders[3].order.domain = Some("My App".into());
        orders[3].order.all_domains = true;
        orders
    }

    #[test]
    fn saved_sets_name_their_authors_and_read_back() {
        let orders = standing();
        let text = text(&orders);
        assert_eq!(
            text,
            "# redial dials 1\n\
             # kept, set by redial dial at the start\n\
             Shop.Cart.* = count\n\
             # kept for another 1m 30s, set by redial dial (pid 7, user www)\n\
             Shop.Order.* = count\n\
             # held, set by redial dial (pid 7, user www)\n\
             Shop.Money.* = count\n\
             *.Add(int\\*) = count domain=\"My App\" all-domains\n"
        );
        let read = dialset::parse(&text).expect("a dial set");
        assert_eq!(read, orders.into_iter().map(|standing| standing.order).collect::<Vec<_>>());
        assert_eq!(super::text(&[]), "# redial dials 1\n");
    }

    #[test]
    fn orders_that_read_as_others_are_no_dial_set() {
        let reads = |orders: &[StandingOrder]| reads_back(&text(orders), orders);
        assert!(reads(&standing()) && reads(&[]));
        for pattern in ["", "#Shop.Cart.*", "A.B = off\nC.D", "Shop.*("] {
            let mut orders = standing();
            orders[1].order.pattern = pattern.into();
            assert!(!reads(&orders), "{pattern}");
        }
        let mut orders = standing();
        orders[0].order.options.callers = true;
        assert!(!reads(&orders), "options need level time");
    }

    #[test]
    fn replaces_a_file_only_with_force() {
        let path = std::env::temp_dir().join(format!("redial-save-{}.dials", std::process::id()));
        let _ = std::fs::remove_file(&path);
        write(&path, "a", false).expect("there was none");
        let error = write(&path, "b", false).expect_err("there is one");
        assert!(
            error.exit() == Exit::Failed && error.to_string().ends_with("(--force replaces it)"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "a");
        write(&path, "c", true).expect("forced");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "c");
        std::fs::remove_file(&path).expect("cleaned");
    }
}
