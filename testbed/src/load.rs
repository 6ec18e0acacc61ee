//! Clients that send requests to a local server without a pause and check each answer.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Result, ensure};

use crate::host::DEADLINE;

/// Number of connections.
const CLIENTS: usize = 4;

/// Clients that send requests to a local server and check each answer. They pause and continue together.
pub struct Load {
    state: Arc<State>,
    clients: Vec<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct State {
    now: Mutex<LoadState>,
    changed: Condvar,
}

#[derive(Default)]
struct LoadState {
    /// Whether clients may send requests.
    on: bool,
    over: bool,
    /// Clients waiting for permission.
    parked: usize,
    /// Answers so far.
    answers: u64,
    /// Errors of clients that ended early.
    lost: Vec<String>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, LoadState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        now: MutexGuard<'a, LoadState>,
        until: impl Fn(&LoadState) -> bool,
    ) -> Result<MutexGuard<'a, LoadState>> {
        let waited = self.changed.wait_timeout_while(now, DEADLINE, |now| !until(now) && now.lost.is_empty());
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ensure!(now.lost.is_empty(), "clients gave up: {:?}", now.lost);
        ensure!(until(&now), "the load does not go on: {} answers, {} parked", now.answers, now.parked);
        Ok(now)
    }

    /// Waits for permission to send. Returns false at the end.
    fn wait_for_permission(&self) -> bool {
        let mut now = self.lock();
        if !now.on && !now.over {
            now.parked += 1;
            self.changed.notify_all();
            while !now.on && !now.over {
                now = self.changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            now.parked -= 1;
        }
        !now.over
    }
}

impl Load {
    /// Starts the clients for the server at a port of this machine. They send nothing before [`Load::go_on`].
    pub fn start(port: u16) -> Load {
        let state = Arc::new(State::default());
        let client = |number: usize| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                let asked = ask(port, number, &state);
                if let Err(error) = &asked {
                    state.lock().lost.push(format!("{error:#}"));
                    state.changed.notify_all();
                }
                asked
            })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Load { state, clients }
    }

    /// Lets the clients send, and returns after the given number of further answers, while they continue.
    ///
    /// # Errors
    /// When a client failed, or the deadline passes.
    pub fn go_on(&self, answers: u64) -> Result<()> {
        let mut now = self.state.lock();
        now.on = true;
        let until = now.answers + answers;
        self.state.changed.notify_all();
        self.state.wait(now, |now| now.answers >= until).map(drop)
    }

    /// Returns the number of answers so far.
    pub fn answers(&self) -> u64 {
        self.state.lock().answers
    }

    /// Returns when no request is in flight.
    ///
    /// # Errors
    /// When a client failed, or the deadline passes.
    pub fn pause(&self) -> Result<()> {
        let mut now = self.state.lock();
        now.on = false;
        self.state.wait(now, |now| now.parked == CLIENTS).map(drop)
    }

    /// Ends the load.
    ///
    /// # Errors
    /// The first failure of a client.
    pub fn end(mut self) -> Result<()> {
        self.over();
        for client in std::mem::take(&mut self.clients) {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(())
    }

    fn over(&self) {
        self.state.lock().over = true;
        self.state.changed.notify_all();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over();
    }
}

/// Sends a request and checks its answer, repeatedly, on one connection.
fn ask(port: u16, number: usize, state: &State) -> Result<()> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut items = number;
    while state.wait_for_permission() {
        items = (items + 1) % 12;
        write!(stream, "GET /cart/{items} HTTP/1.1\r\nHost: shop\r\n\r\n")?;
        let body = answer(&mut reader)?;
        ensure!(body == format!("total {}", total(items as u32)), "/cart/{items}: {body:?}");
        state.lock().answers += 1;
        state.changed.notify_all();
    }
    Ok(())
}

/// Reads the body of an answer.
fn answer(reader: &mut impl BufRead) -> Result<String> {
    let mut length = 0;
    let mut line = String::new();
    for first in std::iter::once(true).chain(std::iter::repeat(false)) {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
        let line = line.trim_end();
        if first {
            ensure!(line == "HTTP/1.1 200 OK", "{line}");
        } else if line.is_empty() {
            break;
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

/// Returns the sum that the server computes: twice each price, the item's number from two stores, the size of
/// one, the height of a shelf.
pub fn total(items: u32) -> u32 {
    let known = |item: u32| if item < 10 { item } else { 0 };
    (0..items).map(|item| 2 * (item * 3 + 1) + 2 * known(item) + 10 + 2).sum()
}
