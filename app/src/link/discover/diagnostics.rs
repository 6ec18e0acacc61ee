//! The runtime's own diagnostics socket: where it lies, and the one question asked there, which version it is.
#![forbid(unsafe_code)]

use crate::link::ipc::{self, Answer};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The runtime answers in microseconds; one that is stopped in a debugger never does.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where the runtime of a process puts its socket: `dotnet-diagnostic-PID-START-socket` in its temporary folder, owned
/// by `uid`. `root` is the process's root folder as seen from here, `current` the one it is in, `inner` its pid in its
/// own namespace.
pub fn socket(
    root: &Path,
    current: &Path,
    temporary: Option<&str>,
    (inner, start): (u32, u64),
    uid: u32,
) -> Option<PathBuf> {
    let name = format!("dotnet-diagnostic-{inner}-{start}-socket");
    let folder = temporary.filter(|folder| !folder.is_empty()).unwrap_or("/tmp");
    let path = match folder.strip_prefix('/') {
        Some(inside) => root.join(inside.trim_start_matches('/')).join(name),
        None => current.join(folder).join(name),
    };
    let found = path.symlink_metadata().ok()?;
    // In a folder that everybody may write to, the name alone proves nothing.
    (found.file_type().is_socket() && found.uid() == uid).then_some(path)
}

/// Asks the runtime behind a socket for its version; None when it is too old to know the question (before
/// .NET 6) or does not answer.
pub fn version(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    match ipc::ask(&mut stream, ipc::PROCESS_INFO_2, &[]) {
        Ok(Answer::Done(payload)) => product_version(&payload),
        Ok(Answer::Error(_)) | Err(_) => None,
    }
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
    use std::io::{Read, Write};
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
            let root = Path::new("/");
            let uid = folder.metadata().expect("it is there").uid();
            let path = socket(root, root, folder.to_str(), (42, 777), uid).expect("it is there");
            assert_eq!(socket(root, &folder, Some("."), (42, 777), uid), Some(folder.join(".").join(name)));
            assert_eq!(socket(root, root, folder.to_str(), (43, 777), uid), None);
            assert_eq!(socket(root, root, folder.to_str(), (42, 777), uid + 1), None, "another user's");
            std::fs::write(folder.join("dotnet-diagnostic-44-777-socket"), "").expect("file");
            assert_eq!(socket(root, root, folder.to_str(), (44, 777), uid), None, "no socket");
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut question = [0u8; 20];
                stream.read_exact(&mut question).expect("a question");
                assert_eq!(question, *b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0");
                let payload = payload(&["", "", "", "", "8.0.31"]);
                let reply = ipc::message(status, &payload).expect("short");
                stream.write_all(&reply).expect("an answer");
            });
            assert_eq!(version(&path).as_deref(), answer);
            server.join().expect("the server ran");
            std::fs::remove_dir_all(&folder).expect("cleaned");
        }
    }
}
