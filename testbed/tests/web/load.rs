//! Clients that ask a server on loopback without a pause, each answer checked.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Result, ensure};
use redial_testbed::host::DEADLINE;

/// Connections that ask without a pause.
const CLIENTS: usize = 4;

/// Clients that ask on loopback, each answer checked; they pause and go on together.
pub struct Load {
    state: Arc<State>,
    clients: Vec<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    /// Whether clients are to ask.
    on: bool,
    over: bool,
    /// Clients that wait to be let on.
    parked: usize,
    /// Answers so far.
    answers: u64,
    /// Why clients ended before they were told to.
    lost: Vec<String>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        now: MutexGuard<'a, Now>,
        until: impl Fn(&Now) -> bool,
    ) -> Result<MutexGuard<'a, Now>> {
        let waited = self.changed.wait_timeout_while(now, DEADLINE, |now| !until(now) && now.lost.is_empty());
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ensure!(now.lost.is_empty(), "clients gave up: {:?}", now.lost);
        ensure!(until(&now), "the load does not go on: {} answers, {} parked", now.answers, now.parked);
        Ok(now)
    }

    /// Waits until asking is allowed; whether it goes on.
    fn may_ask(&self) -> bool {
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

    /// Lets the clients ask; returns when so many more answers have come, while they ask on.
    pub fn go_on(&self, answers: u64) -> Result<()> {
        let mut now = self.state.lock();
        now.on = true;
        let until = now.answers + answers;
        self.state.changed.notify_all();
        self.state.wait(now, |now| now.answers >= until).map(drop)
    }

    /// Returns when no request is under way.
    pub fn pause(&self) -> Result<()> {
        let mut now = self.state.lock();
        now.on = false;
        self.state.wait(now, |now| now.parked == CLIENTS).map(drop)
    }

    /// Ends it; what went wrong in any client.
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

/// One connection: a request and its checked answer, again and again.
fn ask(port: u16, number: usize, state: &State) -> Result<()> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut items = number;
    while state.may_ask() {
        items = (items + 1) % 12;
        write!(stream, "GET /cart/{items} HTTP/1.1\r\nHost: shop\r\n\r\n")?;
        let body = answer(&mut reader)?;
        ensure!(body == format!("total {}", total(items as u32)), "/cart/{items}: {body:?}");
        state.lock().answers += 1;
        state.changed.notify_all();
    }
    Ok(())
}

/// The body of an answer.
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

/// What the server adds up: twice each price, the item's number from two stores, the size of one, the height of a shelf.
fn total(items: u32) -> u32 {
    let known = |item: u32| if item < 10 { item } else { 0 };
    (0..items).map(|item| 2 * (item * 3 + 1) + 2 * known(item) + 10 + 2).sum()
}
