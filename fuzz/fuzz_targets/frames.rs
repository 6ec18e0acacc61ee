//! Frames: the same bodies come out however a stream is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::frame::{FrameError, FrameReader, frame};

fuzz_target!(|data: &[u8]| {
    // The first byte chooses the size of the pieces; the rest is the stream.
    let Some((&size, stream)) = data.split_first() else { return };
    let whole = read(stream.chunks(stream.len().max(1)));
    let pieces = read(stream.chunks(usize::from(size) + 1));
    assert_eq!(whole.is_err(), pieces.is_err());
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
        let written: Vec<u8> =
            whole.iter().flat_map(|body| frame(body).expect("a body that was read fits a frame")).collect();
        assert!(stream.starts_with(&written));
    }
});

fn read<'s>(pieces: impl Iterator<Item = &'s [u8]>) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new();
    let mut bodies = Vec::new();
    for piece in pieces {
        reader.push(piece);
        while let Some(body) = reader.next()? {
            bodies.push(body);
        }
    }
    Ok(bodies)
}
