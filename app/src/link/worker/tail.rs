//! What a launched program writes, read by threads that never let it wait: what nobody takes in time is left out, and
//! counted.

use crate::model::update::{Launch, Written};
use crate::output::words;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines of each stream that wait to be taken; older ones are left out.
const WAITING: usize = 2_000;
/// Bytes of a line; the rest of it is left out.
const LONGEST: u64 = 2_000;
/// After the program's end its children may hold the pipe open: they are not waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Lines that were read and not taken yet.
#[derive(Clone, Default)]
pub struct Tail(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Kept>,
    ended: Condvar,
}

#[derive(Default)]
struct Kept {
    /// Of standard output and of standard error, each with its number among all: a flood of one leaves the other.
    lines: [VecDeque<(u64, Written)>; 2],
    read: u64,
    left_out: u64,
    /// Threads that still read.
    reading: usize,
}

impl Tail {
    /// Reads to the end in a thread of its own. `error` marks the lines as of standard error.
    pub fn read(&self, from: impl Read + Send + 'static, error: bool) -> std::io::Result<()> {
        self.kept().reading += 1;
        let tail = self.clone();
        let thread = std::thread::Builder::new().name("output".into()).spawn(move || {
            let mut from = BufReader::new(from);
            while let Some(text) = line(&mut from) {
                tail.add(Written { error, text });
            }
            tail.end();
        });
        thread.map(drop).inspect_err(|_| self.end())
    }

    fn end(&self) {
        self.kept().reading -= 1;
        self.0.ended.notify_all();
    }

    fn add(&self, written: Written) {
        let kept = &mut *self.kept();
        let lines = &mut kept.lines[usize::from(written.error)];
        if lines.len() >= WAITING {
            lines.pop_front();
            kept.left_out += 1;
        }
        lines.push_back((kept.read, written));
        kept.read += 1;
    }

    /// What was read since the last time, if anything.
    pub fn take(&self) -> Option<Launch> {
        let (lines, left_out) = {
            let mut kept = self.kept();
            (std::mem::take(&mut kept.lines), std::mem::take(&mut kept.left_out))
        };
        let mut lines: Vec<(u64, Written)> = lines.into_iter().flatten().collect();
        lines.sort_by_key(|(number, _)| *number);
        let lines: Vec<Written> = lines.into_iter().map(|(_, written)| written).collect();
        (!lines.is_empty()).then_some(Launch::Output { lines, left_out })
    }

    /// Waits a moment for what the program wrote before it ended.
    pub fn wait_for_end(&self) {
        let reading = |kept: &mut Kept| kept.reading > 0;
        drop(self.0.ended.wait_timeout_while(self.kept(), LAST_WORDS, reading));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next line, cut where it is too long; None at the end.
fn line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    if from.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()? == 0 {
        return None;
    }
    let cut = bytes.len() as u64 == LONGEST && bytes.last() != Some(&b'\n');
    if cut {
        // The rest of it is read, but kept by nobody.
        from.skip_until(b'\n').ok()?;
    }
    let mut text = words::one_line(&String::from_utf8_lossy(&bytes));
    if cut {
        text.push('…');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn taken(tail: &Tail) -> (Vec<String>, u64) {
        match tail.take() {
            Some(Launch::Output { lines, left_out }) => {
                (lines.into_iter().map(|line| line.text).collect(), left_out)
            }
            _ => (Vec::new(), 0),
        }
    }

    #[test]
    fn lines_are_whole_clean_and_of_bounded_length() {
        let long = "x".repeat(5_000);
        let mut from = Cursor::new(format!("one\r\n\u{1b}[31mred\n{long}\nlast").into_bytes());
        let lines: Vec<String> = std::iter::from_fn(|| line(&mut from)).collect();
        assert_eq!((lines.len(), lines[0].as_str(), lines[3].as_str()), (4, "one", "last"));
        assert!(!lines[1].contains('\u{1b}') && lines[1].ends_with("[31mred"), "{}", lines[1]);
        assert_eq!(lines[2].chars().count(), 2_001);
    }

    #[test]
    fn what_nobody_takes_is_left_out_and_counted() {
        let tail = Tail::default();
        let text: String = (0..WAITING + 5).map(|number| format!("{number}\n")).collect();
        tail.read(Cursor::new(text.into_bytes()), false).expect("a thread");
        while tail.kept().reading > 0 {
            std::thread::yield_now();
        }
        let (lines, left_out) = taken(&tail);
        assert_eq!((lines.len(), left_out, lines[0].as_str()), (WAITING, 5, "5"));
        assert_eq!(taken(&tail), (Vec::new(), 0));
    }
}
