//! Reads the output of a launched program in threads that never block it. Drops and counts lines that nobody
//! takes in time.

use redial_model::update::{LaunchUpdate, ProgramLine};
use redial_text::words;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines of each stream kept until taken; older ones are dropped.
const WAITING: usize = 2_000;
/// Bytes of a line; the rest is dropped.
const MAX_LINE_BYTES: u64 = 2_000;
/// How long to wait for output after the program's end. Child processes may hold the pipe open longer.
const FINAL_OUTPUT_WAIT: Duration = Duration::from_secs(2);

/// Lines that were read but not yet taken.
#[derive(Clone, Default)]
pub struct OutputTail(Arc<SharedTail>);

#[derive(Default)]
struct SharedTail {
    kept: Mutex<KeptLines>,
    ended: Condvar,
}

#[derive(Default)]
struct KeptLines {
    /// Lines of standard output and standard error with their sequence numbers. Separate queues, so that a
    /// flood on one does not displace the other.
    lines: [VecDeque<(u64, ProgramLine)>; 2],
    read: u64,
    left_out: u64,
    /// Threads still reading.
    reading: usize,
}

impl OutputTail {
    /// Reads to the end in a separate thread. `error` marks the lines as standard error.
    pub fn read(&self, from: impl Read + Send + 'static, error: bool) -> std::io::Result<()> {
        self.kept().reading += 1;
        let tail = self.clone();
        let thread = std::thread::Builder::new().name("output".into()).spawn(move || {
            let mut from = BufReader::new(from);
            while let Some(text) = line(&mut from) {
                tail.add(ProgramLine { error, text });
            }
            tail.end();
        });
        thread.map(drop).inspect_err(|_| self.end())
    }

    fn end(&self) {
        self.kept().reading -= 1;
        self.0.ended.notify_all();
    }

    fn add(&self, written: ProgramLine) {
        let kept = &mut *self.kept();
        let lines = &mut kept.lines[usize::from(written.error)];
        if lines.len() >= WAITING {
            lines.pop_front();
            kept.left_out += 1;
        }
        lines.push_back((kept.read, written));
        kept.read += 1;
    }

    /// Returns the lines read since the last call, if any.
    pub fn take(&self) -> Option<LaunchUpdate> {
        let (lines, left_out) = {
            let mut kept = self.kept();
            (std::mem::take(&mut kept.lines), std::mem::take(&mut kept.left_out))
        };
        let mut lines: Vec<(u64, ProgramLine)> = lines.into_iter().flatten().collect();
        lines.sort_by_key(|(number, _)| *number);
        let lines: Vec<ProgramLine> = lines.into_iter().map(|(_, written)| written).collect();
        (!lines.is_empty()).then_some(LaunchUpdate::Output { lines, left_out })
    }

    /// Waits briefly for output written before the program ended.
    pub fn wait_for_end(&self) {
        let reading = |kept: &mut KeptLines| kept.reading > 0;
        drop(self.0.ended.wait_timeout_while(self.kept(), FINAL_OUTPUT_WAIT, reading));
    }

    fn kept(&self) -> MutexGuard<'_, KeptLines> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the next line, truncated if too long; `None` at the end.
fn line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    if from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes).ok()? == 0 {
        return None;
    }
    let cut = bytes.len() as u64 == MAX_LINE_BYTES && bytes.last() != Some(&b'\n');
    if cut {
        // Skip the rest of the line.
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

    fn taken(tail: &OutputTail) -> (Vec<String>, u64) {
        match tail.take() {
            Some(LaunchUpdate::Output { lines, left_out }) => {
                (lines.into_iter().map(|line| line.text).collect(), left_out)
            }
            _ => (Vec::new(), 0),
        }
    }

    #[test]
    fn lines_are_clean_and_bounded() {
        let long = "x".repeat(5_000);
        let mut from = Cursor::new(format!("one\r\n\u{1b}[31mred\n{long}\nlast").into_bytes());
        let lines: Vec<String> = std::iter::from_fn(|| line(&mut from)).collect();
        assert_eq!((lines.len(), lines[0].as_str(), lines[3].as_str()), (4, "one", "last"));
        assert!(!lines[1].contains('\u{1b}') && lines[1].ends_with("[31mred"), "{}", lines[1]);
        assert_eq!(lines[2].chars().count(), 2_001);
    }

    #[test]
    fn drops_and_counts_lines_nobody_takes() {
        let tail = OutputTail::default();
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
