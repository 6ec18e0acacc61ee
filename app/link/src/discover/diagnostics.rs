//! Finds the runtime's diagnostics socket and asks it for the runtime's version.
#![forbid(unsafe_code)]

use crate::ipc::{self, IpcAnswer};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The runtime answers within microseconds; a runtime stopped in a debugger never answers.
const PATIENCE: Duration = Duration::from_millis(200);

/// Returns the path of a runtime's socket: `dotnet-diagnostic-PID-START-socket` in the process's temporary
/// folder, owned by `uid`. `root` is the process's root folder as seen from here, `current` its working
/// directory, `inner` its pid in its own namespace.
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
    // The name alone proves nothing in a world-writable folder.
    (found.file_type().is_socket() && found.uid() == uid).then_some(path)
}

/// Asks the runtime for its version. Returns `None` if it does not know the question (before .NET 6) or does
/// not answer.
pub fn version(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    match ipc::ask(&mut stream, ipc::PROCESS_INFO_2, &[]) {
        Ok(IpcAnswer::Done(payload)) => product_version(&payload),
        Ok(IpcAnswer::Error(_)) | Err(_) => None,
    }
}

/// Reads the product version from a reply: pid u64, runtime cookie 16 bytes, then strings: command line,
/// operating system, architecture, entry assembly, product version. A string starts with its length in UTF-16
/// units, including the terminating zero.
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
    fn asks_the_version_and_treats_errors_as_none() {
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
            assert_eq!(socket(root, root, folder.to_str(), (44, 777), uid), None, "not a socket");
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
