//! Two programs that take turns of a tenth of a second, so that a slow phase of the machine falls on both alike: run one
//! after the other, the same compilation differs by a tenth and more.

use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::timed::{Running, Timed};

/// How long one of them runs before the other does.
const SLICE: Duration = Duration::from_millis(100);
/// Longer than any of them takes.
const TOO_LONG: Duration = Duration::from_secs(600);

/// Runs both to their ends, `first` first, each stopped while the other runs: what each took, by the clock while it ran.
///
/// # Errors
/// When one of them cannot be started or stopped, or does not end with code 0.
pub fn in_slices(first: Command, second: Command) -> Result<[Timed; 2]> {
    let (ended, end) = channel();
    let mut programs = Vec::new();
    for (place, command) in [first, second].into_iter().enumerate() {
        let running = Running::start(command)?;
        let program = Program::of(&running)?;
        program.signal(libc::SIGSTOP)?;
        let ended = ended.clone();
        // Nobody listens any more once the other has failed.
        thread::spawn(move || drop(ended.send((place, running.wait()))));
        programs.push(program);
    }
    let mut done: [Option<Timed>; 2] = [None, None];
    while done.iter().any(Option::is_none) {
        let alone = done.iter().any(Option::is_some);
        for place in 0..programs.len() {
            let program = &mut programs[place];
            if done[place].is_some() {
                continue;
            }
            let began = Instant::now();
            program.signal(libc::SIGCONT)?;
            let told = end.recv_timeout(if alone { TOO_LONG } else { SLICE });
            program.ran += began.elapsed();
            match told {
                // It may be the other that ended, at the end of its slice.
                Ok((who, timed)) => {
                    program.signal(libc::SIGSTOP)?;
                    let ran = programs[who].ran.as_secs_f64() * 1000.0;
                    done[who] = Some(Timed { milliseconds: ran, ..timed? });
                }
                Err(RecvTimeoutError::Timeout) if !alone => program.signal(libc::SIGSTOP)?,
                Err(error) => return Err(error).context("a program does not end"),
            }
        }
    }
    let [Some(first), Some(second)] = done else { bail!("a program did not end") };
    Ok([first, second])
}

/// One of the two.
struct Program {
    pid: i32,
    /// How long it ran.
    ran: Duration,
}

impl Program {
    fn of(running: &Running) -> Result<Program> {
        let pid = i32::try_from(running.pid()).context("a process id beyond its type")?;
        Ok(Program { pid, ran: Duration::ZERO })
    }

    fn signal(&self, signal: i32) -> Result<()> {
        // SAFETY: kill takes any pid and signal.
        if unsafe { libc::kill(self.pid, signal) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            // It has ended, which its thread is about to tell.
            Some(libc::ESRCH) => Ok(()),
            _ => Err(error).context("a program cannot be stopped or continued"),
        }
    }
}
