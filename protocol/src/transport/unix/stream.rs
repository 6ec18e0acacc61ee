//! A connected socket, its two directions, and closing it.

use crate::transport::Peer;
use interprocess::ConnectWaitMode;
use interprocess::local_socket::{ConnectOptions, GenericFilePath, ToFsName};
use interprocess::os::unix::uds_local_socket;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Stream(UnixStream);

#[derive(Debug)]
pub(crate) struct ReadHalf(Arc<UnixStream>);

#[derive(Debug)]
pub(crate) struct WriteHalf(Arc<UnixStream>);

#[derive(Clone, Debug)]
pub(crate) struct Closer(Arc<UnixStream>);

/// The peer as the system recorded it: a client when it connected, a server when it began to listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credentials {
    /// Pid as seen from here; None if it is not visible from here.
    pub(crate) pid: Option<u32>,
    /// Uid as seen from here.
    pub(crate) uid: u32,
}

impl Credentials {
    /// Reads SO_PEERCRED (socket(7)). The `peer_creds` of interprocess does not fit: it treats a peer outside
    /// our pid namespace, whose pid is given as 0, as disconnected.
    pub(crate) fn of(stream: &impl AsRawFd) -> io::Result<Credentials> {
        let nobody = libc::uid_t::MAX;
        let mut credentials = libc::ucred { pid: 0, uid: nobody, gid: nobody };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the descriptor is open as long as `stream`; the structure is ours and has the given length.
        let code = unsafe {
            let out = (&raw mut credentials).cast();
            libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, out, &mut length)
        };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
        // The answer for an unconnected socket.
        if credentials.uid == nobody {
            return Err(io::ErrorKind::NotConnected.into());
        }
        Ok(Credentials {
            pid: u32::try_from(credentials.pid).ok().filter(|pid| *pid != 0),
            uid: credentials.uid,
        })
    }

    pub(crate) fn peer(self) -> Peer {
        Peer { pid: self.pid, user: self.uid.to_string() }
    }
}

/// Connects without waiting; None if the server's queue is full. A blocking connect would wait for as long as the
/// server does not accept.
pub(super) fn try_connect(path: &Path) -> io::Result<Option<uds_local_socket::Stream>> {
    let stream = ConnectOptions::new()
        .name(path.to_fs_name::<GenericFilePath>()?)
        .wait_mode(ConnectWaitMode::Deferred)
        .connect_sync_as::<uds_local_socket::Stream>()?;
    // A full queue (EAGAIN) leaves the socket unconnected, which only shows here.
    match stream.inner().peer_addr() {
        Ok(_) => Ok(Some(stream)),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(None),
        Err(error) => Err(error),
    }
}

impl Stream {
    pub(crate) fn new(stream: uds_local_socket::Stream) -> Stream {
        Stream(UnixStream::from(std::os::fd::OwnedFd::from(stream)))
    }

    pub(crate) fn split(self) -> (ReadHalf, WriteHalf, Closer) {
        let shared = Arc::new(self.0);
        (ReadHalf(Arc::clone(&shared)), WriteHalf(Arc::clone(&shared)), Closer(shared))
    }
}

impl ReadHalf {
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            return match (&*self.0).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // SO_RCVTIMEO reports this; map it to the same kind as on Windows.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Err(io::ErrorKind::TimedOut.into())
                }
                // The peer closed before reading all our bytes; the connection ended all the same.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
                other => other,
            };
        }
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout)
    }
}

impl WriteHalf {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // MSG_NOSIGNAL: otherwise the host would receive SIGPIPE, which kills it unless it handles the
            // signal. SAFETY: the descriptor is open as long as self; the buffer is readable for its length
            // (send(2)).
            let sent = unsafe {
                libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
            };
            match usize::try_from(sent) {
                Ok(sent) => return Ok(sent),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl Closer {
    pub(crate) fn close(&self) {
        // Fails only if the connection has already ended.
        let _ = self.0.shutdown(Shutdown::Both);
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one structure, which is ours; the descriptor is open as long as self. Does not wait (poll(2)).
        let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
        ready == 1 && poll.revents & (libc::POLLHUP | libc::POLLERR) != 0
    }
}
