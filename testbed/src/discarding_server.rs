//! A Unix socket that takes every connection and discards all bytes: the control run of a hostile client.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};

/// Longest wait for an event, milliseconds. Bounds the time that dropping the server takes.
const WAIT_MS: libc::c_int = 50;

/// The server. Dropping it closes the socket and all connections, and removes the file.
pub struct DiscardingServer {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    discarded: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl DiscardingServer {
    /// Starts a server with a new socket file of this name in the temporary folder.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn start(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("redial-{name}-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path).with_context(|| path.display().to_string())?;
        listener.set_nonblocking(true)?;
        let (stop, discarded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, bytes) = (Arc::clone(&stop), Arc::clone(&discarded));
        let thread = std::thread::spawn(move || serve(&listener, &stopped, &bytes));
        Ok(Self { path, stop, discarded, thread: Some(thread) })
    }

    /// Returns the path of its socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes discarded so far.
    pub fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }
}

impl Drop for DiscardingServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panicked thread has already reported it.
        drop(self.thread.take().map(JoinHandle::join));
        drop(std::fs::remove_file(&self.path));
    }
}

fn serve(listener: &UnixListener, stop: &AtomicBool, discarded: &AtomicU64) {
    let mut connections: Vec<UnixStream> = Vec::new();
    let mut buffer = vec![0; 256 << 10];
    while !stop.load(Ordering::Relaxed) {
        let wait = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let sockets = connections.iter().map(UnixStream::as_raw_fd);
        let mut waits: Vec<libc::pollfd> = sockets.chain([listener.as_raw_fd()]).map(wait).collect();
        // SAFETY: the live structures, and their count.
        unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as libc::nfds_t, WAIT_MS) };
        let mut ready = waits.iter().map(|wait| wait.revents != 0);
        connections.retain_mut(|stream| match ready.next() {
            Some(true) => match stream.read(&mut buffer) {
                Ok(0) => false,
                Ok(bytes) => {
                    discarded.fetch_add(bytes as u64, Ordering::Relaxed);
                    true
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            },
            _ => true,
        });
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                connections.push(stream);
            }
        }
    }
}
