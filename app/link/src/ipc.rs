//! Speaks the protocol of a runtime's diagnostics port: one question and one answer per connection. (Protocol
//! "DOTNET_IPC_V1", dotnet/diagnostics documentation/design-docs/ipc-protocol.md.) Pure except for the stream
//! it is given.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};

const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// Length of the header: magic, size u16 of the whole message, command set u8, command u8, reserved u16.
const HEADER: usize = 20;
/// The command set of answers, and its command for success.
const SERVER: u8 = 0xff;
const OK: u8 = 0;
/// Used for an error without a code (`CORDIAGIPC_E_UNKNOWN_ERROR`).
const UNKNOWN_ERROR: u32 = 0x8013_1387;

/// A command: set and number.
pub type IpcCommand = (u8, u8);
/// Loads a profiler (`Profiler`, `AttachProfiler`); .NET Core 3.0 and later.
pub const ATTACH_PROFILER: IpcCommand = (3, 1);
/// Identifies the process (`Process`, `ProcessInfo`); .NET 5 and later, an error before that.
pub const PROCESS_INFO: IpcCommand = (4, 0);
/// Like [`PROCESS_INFO`], plus the runtime's version (`ProcessInfo2`); .NET 6 and later.
#[cfg_attr(windows, allow(dead_code, reason = "versions come from file names there"))]
pub const PROCESS_INFO_2: IpcCommand = (4, 4);

/// The runtime's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IpcAnswer {
    /// Success, with a payload.
    Done(Vec<u8>),
    /// An HRESULT.
    Error(u32),
}

/// Builds a message; `None` if it is too long for the size field.
pub fn message(command: IpcCommand, payload: &[u8]) -> Option<Vec<u8>> {
    let size = u16::try_from(HEADER + payload.len()).ok()?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[command.0, command.1, 0, 0]);
    bytes.extend_from_slice(payload);
    Some(bytes)
}

/// Asks one question.
///
/// # Errors
/// If the stream fails or ends, or the peer sends anything but an answer.
pub fn ask(stream: &mut (impl Read + Write), command: IpcCommand, payload: &[u8]) -> io::Result<IpcAnswer> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let question = message(command, payload).ok_or_else(|| invalid("the message is too long"))?;
    stream.write_all(&question)?;
    stream.flush()?;
    let mut header = [0u8; HEADER];
    stream.read_exact(&mut header)?;
    let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
    if !header.starts_with(MAGIC) || header[16] != SERVER || size < HEADER {
        return Err(invalid("the peer is not a diagnostics port"));
    }
    let mut payload = vec![0u8; size - HEADER];
    stream.read_exact(&mut payload)?;
    if header[17] == OK {
        return Ok(IpcAnswer::Done(payload));
    }
    let code = payload.first_chunk().map_or(UNKNOWN_ERROR, |code| u32::from_le_bytes(*code));
    Ok(IpcAnswer::Error(code))
}

/// Builds the payload of [`ATTACH_PROFILER`]: the runtime's time limit, the profiler's class id, the
/// library's path and data for the profiler. `None` if the class id is malformed.
pub fn attach_profiler(timeout_ms: u32, clsid: &str, library: &str, data: &[u8]) -> Option<Vec<u8>> {
    let mut payload = timeout_ms.to_le_bytes().to_vec();
    payload.extend_from_slice(&guid(clsid)?);
    payload.extend(string(library));
    payload.extend_from_slice(&u32::try_from(data.len()).ok()?.to_le_bytes());
    payload.extend_from_slice(data);
    Some(payload)
}

/// Encodes a string as UTF-16 with a terminating zero, preceded by its length including the zero.
fn string(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let mut bytes = (units.len() as u32).to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes
}

/// Encodes a class id as in memory (guiddef.h): its first three groups are little-endian numbers.
fn guid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.strip_prefix('{')?.strip_suffix('}')?.split('-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    let mut bytes = number.to_be_bytes();
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::AGENT_CLSID;

    /// Gives a prepared answer and records the question.
    struct Port {
        answer: io::Cursor<Vec<u8>>,
        asked: Vec<u8>,
    }

    impl Read for Port {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answer.read(buffer)
        }
    }

    impl Write for Port {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.asked.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn port(answer: &[u8]) -> Port {
        Port { answer: io::Cursor::new(answer.to_vec()), asked: Vec::new() }
    }

    #[test]
    fn the_attach_request_has_its_golden_bytes() {
        let payload = attach_profiler(10_000, AGENT_CLSID, "/a.so", b"xy").expect("a payload");
        let mut port = port(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
        assert_eq!(
            ask(&mut port, ATTACH_PROFILER, &payload).expect("an answer"),
            IpcAnswer::Done(vec![0; 4])
        );
        let golden: &[&[u8]] = &[
            b"DOTNET_IPC_V1\0\x3e\0\x03\x01\0\0",
            b"\x10\x27\0\0",
            b"\xe4\x91\x0d\x5a\x3b\x7c\x62\x4e\x9f\x18\x52\xd1\xa1\x7e\x0b\x6c",
            b"\x06\0\0\0/\0a\0.\0s\0o\0\0\0",
            b"\x02\0\0\0xy",
        ];
        assert_eq!(port.asked, golden.concat());
    }

    #[test]
    fn an_error_is_its_code() {
        let mut known = port(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x6a\x13\x13\x80");
        assert_eq!(ask(&mut known, PROCESS_INFO, &[]).expect("an answer"), IpcAnswer::Error(0x8013_136A));
        assert_eq!(known.asked, b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
        let mut bare = port(b"DOTNET_IPC_V1\0\x14\0\xff\xff\0\0");
        assert_eq!(ask(&mut bare, PROCESS_INFO, &[]).expect("an answer"), IpcAnswer::Error(UNKNOWN_ERROR));
    }

    #[test]
    fn rejects_malformed_answers() {
        let whole = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
        for cut in 0..whole.len() {
            let error = ask(&mut port(&whole[..cut]), PROCESS_INFO, &[]).expect_err("cut off");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut} bytes");
        }
        for wrong in [
            b"DOTNET_IPC_V2\0\x14\0\xff\0\0\0",
            b"DOTNET_IPC_V1\0\x13\0\xff\0\0\0",
            b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0",
        ] {
            let error = ask(&mut port(wrong), PROCESS_INFO, &[]).expect_err("wrong");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(message(PROCESS_INFO, &[0; 70_000]), None);
    }

    #[test]
    fn class_ids_are_checked() {
        for wrong in
            ["", "{}", "5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C", "{5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6}"]
        {
            assert_eq!(guid(wrong), None, "{wrong}");
        }
    }
}
