//! Packets: any bytes are refused or understood, and what was understood is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::frame::FrameReader;
use redial_protocol::packet::{FromAgent, FromController};

fuzz_target!(|data: &[u8]| {
    if let Ok(packet) = FromController::from_body(data) {
        let body = body(&packet.to_frame().expect("what was read can be written"));
        assert_eq!(FromController::from_body(&body).expect("what was written can be read"), packet);
    }
    if let Ok(packet) = FromAgent::from_body(data) {
        let body = body(&packet.to_frame().expect("what was read can be written"));
        assert_eq!(FromAgent::from_body(&body).expect("what was written can be read"), packet);
    }
});

fn body(frame: &[u8]) -> Vec<u8> {
    let mut reader = FrameReader::new();
    reader.push(frame);
    reader.next().expect("a whole frame is good").expect("a whole frame has a body")
}
