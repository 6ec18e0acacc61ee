//! Packets: any bytes are refused or decoded, and decoded packets survive encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::frame::FrameReader;
use redial_protocol::packet::{AgentPacket, ControllerPacket};

fuzz_target!(|data: &[u8]| {
    if let Ok(packet) = ControllerPacket::from_body(data) {
        let body = body(&packet.to_frame().expect("a decoded packet can be encoded"));
        assert_eq!(ControllerPacket::from_body(&body).expect("an encoded packet can be decoded"), packet);
    }
    if let Ok(packet) = AgentPacket::from_body(data) {
        let body = body(&packet.to_frame().expect("a decoded packet can be encoded"));
        assert_eq!(AgentPacket::from_body(&body).expect("an encoded packet can be decoded"), packet);
    }
});

fn body(frame: &[u8]) -> Vec<u8> {
    let mut reader = FrameReader::new();
    reader.push(frame);
    reader.next().expect("a whole frame is valid").expect("a whole frame has a body")
}
