//! The runtime's own diagnostics socket: where it lies, and the one question asked there, which version it is.
//! (Protocol "DOTNET_IPC_V1", dotnet/diagnostics documentation/design-docs/ipc-protocol.md.)
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The runtime answers in microseconds; one that is stopped in a debugger never does.
const PATIENCE: Duration = Duration::from_millis(200);
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// Header: magic, size u16, command set u8, command u8, reserved u16.
const HEADER: usize = 20;
const PROCESS_INFO_2: (u8, u8) = (4, 4);
const OK: (u8, u8) = (0xff, 0);

/// Where the runtime of a process puts its socket: `dotnet-diagnostic-PID-START-socket` in its temporary folder.
/// `root` is the process's root folder as seen from here, `inner` its pid in its own namespace.
pub fn socket(root: &Path, temporary: Option<&str>, inner: u32, start: u64) -> Option<PathBuf> {
    let name = format!("dotnet-diagnostic-{inner}-{start}-socket");
    let folder = temporary.filter(|folder| folder.starts_with('/')).unwrap_or("/tmp");
    let path = root.join(folder.trim_start_matches('/')).join(name);
    path.symlink_metadata().is_ok().then_some(path)
}

/// Asks the runtime behind a socket for its version; None when it is too old to know the question (before
/// .NET 6) or does not answer.
pub fn version(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(&request(PROCESS_INFO_2)).ok()?;
    let mut header = [0u8; HEADER];
    stream.read_exact(&mut header).ok()?;
    let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
    if !header.starts_with(MAGIC) || (header[16], header[17]) != OK || size < HEADER {
        return None;
    }
    let mut payload = vec![0u8; size - HEADER];
    stream.read_exact(&mut payload).ok()?;
    product_version(&payload)
}

fn request(command: (u8, u8)) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(HEADER as u16).to_le_bytes());
    bytes.extend_from_slice(&[command.0, command.1, 0, 0]);
    bytes
}

/// The reply's payload: pid u64, runtime cookie 16 bytes, then strings: command line, operating system,
/// architecture, entry assembly, product version. A string is its length in UTF-16 units, end mark included.
fn product_version(payload: &[u8]) -> Option<String> {
    let mut rest = payload.get(24..)?;
    let mut text = String::new();
    for _ in 0..5 {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let bytes = usize::try_from(u32::from_le_bytes(*length)).ok()?.checked_mul(2)?;
        let (units, after) = after.split_at_checked(bytes)?;
        let units: Vec<u16> =
            units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        text = String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned();
        rest = after;
    }
    // `8.0.31+abcdef…` or `8.0.31 @Commit: abcdef`.
    let version = text.split([' ', '+', ',']).next().unwrap_or_default();
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn payload(strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0u8; 24];
        for string in strings {
            let units: Vec<u16> = string.encode_utf16().chain([0]).collect();
            bytes.extend_from_slice(&(units.len() as u32).to_le_bytes());
            bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        }
        bytes
    }

    #[test]
    fn the_version_is_the_fifth_string() {
        let full = payload(&["shop --serve", "Linux", "x64", "shop", "10.0.11+4b64c2a"]);
        assert_eq!(product_version(&full).as_deref(), Some("10.0.11"));
        for cut in 0..full.len() {
            assert_eq!(product_version(&full[..cut]), None, "{cut} bytes");
        }
        let mut wild = vec![0u8; 24];
        wild.extend_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(product_version(&wild), None);
    }

    #[test]
    fn the_question_is_asked_and_an_error_is_no_version() {
        for (status, answer) in [((0xffu8, 0u8), Some("8.0.31")), ((0xff, 0xff), None)] {
            let folder =
                std::env::temp_dir().join(format!("redial-diagnostics-{}-{}", std::process::id(), status.1));
            std::fs::create_dir_all(&folder).expect("folder");
            let name = "dotnet-diagnostic-42-777-socket";
            let listener = UnixListener::bind(folder.join(name)).expect("socket");
            let path = socket(Path::new("/"), folder.to_str(), 42, 777).expect("it is there");
            assert_eq!(socket(Path::new("/"), folder.to_str(), 43, 777), None);
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut question = [0u8; HEADER];
                stream.read_exact(&mut question).expect("a question");
                assert_eq!(question, *b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0");
                let payload = payload(&["", "", "", "", "8.0.31"]);
                let mut reply = request(status);
                reply[14..16].copy_from_slice(&((HEADER + payload.len()) as u16).to_le_bytes());
                stream.write_all(&[reply, payload].concat()).expect("an answer");
            });
            assert_eq!(version(&path).as_deref(), answer);
            server.join().expect("the server ran");
            std::fs::remove_dir_all(&folder).expect("cleaned");
        }
    }
}
