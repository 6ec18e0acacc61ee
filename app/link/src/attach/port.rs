//! Sends one question to a process's diagnostics port, with a time-out for the whole exchange. A stopped
//! process accepts nothing, and once enough clients wait even connecting blocks.
#![forbid(unsafe_code)]

use crate::discover;
use crate::ipc::{self, IpcAnswer, IpcCommand};
use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The outcome of a question.
#[derive(Debug)]
pub enum PortReply {
    /// The runtime answered.
    Answered(IpcAnswer),
    /// No answer came in time.
    Silence,
    /// The connection failed.
    Failed(io::Error),
}

/// Asks the port of process `pid` and waits at most `wait`.
pub fn ask(pid: u32, command: IpcCommand, payload: Vec<u8>, wait: Duration) -> PortReply {
    let Some(port) = discover::diagnostics_port(pid) else {
        return PortReply::Failed(io::Error::new(io::ErrorKind::NotFound, "the diagnostics port is gone"));
    };
    let (sender, answer) = channel();
    let converse = move || {
        let answer = system::open(&port, wait).and_then(|mut port| ipc::ask(&mut port, command, &payload));
        // After a time-out, nobody receives this.
        let _ = sender.send(answer);
    };
    if let Err(error) = std::thread::Builder::new().name("diagnostics".into()).spawn(converse) {
        return PortReply::Failed(error);
    }
    match answer.recv_timeout(wait) {
        Ok(Ok(answer)) => PortReply::Answered(answer),
        Ok(Err(error)) if is_timeout(&error) => PortReply::Silence,
        Ok(Err(error)) => PortReply::Failed(error),
        Err(RecvTimeoutError::Timeout) => PortReply::Silence,
        Err(RecvTimeoutError::Disconnected) => {
            PortReply::Failed(io::Error::other("the question was not sent"))
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(unix)]
mod system {
    use super::{Duration, Path, io};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// Longest path of a socket (`sockaddr_un`), including the terminating zero.
    const MAX_PATH: usize = 108;

    pub fn open(socket: &Path, wait: Duration) -> io::Result<UnixStream> {
        let stream = if socket.as_os_str().len() < MAX_PATH {
            UnixStream::connect(socket)?
        } else {
            // Seen from here, the folder of a containerized process has a longer path.
            let folder = File::open(socket.parent().unwrap_or(socket))?;
            let name = socket.file_name().unwrap_or_default();
            let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
            UnixStream::connect(short)?
        };
        stream.set_read_timeout(Some(wait))?;
        stream.set_write_timeout(Some(wait))?;
        Ok(stream)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::unix::net::UnixListener;

        #[test]
        fn connects_to_sockets_with_long_paths() {
            let base = std::env::temp_dir().join(format!("redial-port-{}", std::process::id()));
            let deep = base.join("x".repeat(60)).join("y".repeat(60));
            std::fs::create_dir_all(&deep).expect("folder");
            let short = base.join("s");
            let listener = UnixListener::bind(&short).expect("socket");
            let long = deep.join("s");
            std::fs::rename(&short, &long).expect("moved");
            assert!(long.as_os_str().len() >= MAX_PATH);
            drop(open(&long, Duration::from_secs(60)).expect("connected"));
            drop(listener.accept().expect("a client"));
            std::fs::remove_dir_all(&base).expect("cleaned");
        }
    }
}

#[cfg(windows)]
mod system {
    use super::{Duration, Path, io};
    use std::fs::{File, OpenOptions};
    use std::os::windows::fs::OpenOptionsExt;
    use std::time::Instant;

    /// `SECURITY_IDENTIFICATION` (winbase.h): the pipe's server may identify us but not impersonate us.
    const SECURITY_IDENTIFICATION: u32 = 1 << 16;

    /// `ERROR_PIPE_BUSY` (winerror.h): another client has just taken the only instance.
    const PIPE_BUSY: i32 = 231;
    const PAUSE: Duration = Duration::from_millis(5);

    /// Waits while other clients ask. Reads of a pipe opened this way cannot time out; a blocked thread is abandoned.
    pub fn open(pipe: &Path, wait: Duration) -> io::Result<File> {
        let deadline = Instant::now() + wait;
        let mut options = OpenOptions::new();
        options.read(true).write(true).security_qos_flags(SECURITY_IDENTIFICATION);
        loop {
            match options.open(pipe) {
                Err(error) if error.raw_os_error() == Some(PIPE_BUSY) && Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                opened => return opened,
            }
        }
    }
}
