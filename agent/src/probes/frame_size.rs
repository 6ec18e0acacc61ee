//! Finds the frames of methods without a frame pointer, from the machine code behind their return addresses.
//!
//! The JIT leaves the frame pointer out of small methods with at most one call. Their way out is short: it gives the frame
//! back and returns. The way out of any other method takes the frame pointer from the stack again.

use std::sync::atomic::{AtomicU64, Ordering};

/// Places of the cache, a power of two.
const PLACES: usize = 4 << 10;
/// Bits of the frame's size, in words and plus one, below the address. Addresses of programs have 47 bits.
const SIZE_BITS: u32 = 16;

/// Known return addresses with the sizes of frames; 0 instead of a size for a method with a frame pointer.
static KNOWN: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Returns the bytes between the stack at a return address and the return address of the method that owns the code there;
/// None if the method has a frame pointer, or that cannot be found out.
pub(super) fn frame_size(address: usize) -> Option<usize> {
    let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    let place = KNOWN.get(hash as usize % PLACES)?;
    let known = place.load(Ordering::Relaxed);
    let mask = (1 << SIZE_BITS) - 1;
    let words = if known >> SIZE_BITS == address as u64 {
        known & mask
    } else {
        let size = code::frame_size(address);
        let words = size.map_or(0, |size| (size / size_of::<usize>()) as u64 + 1).min(mask);
        place.store((address as u64) << SIZE_BITS | words, Ordering::Relaxed);
        words
    };
    words.checked_sub(1).map(|words| words as usize * size_of::<usize>())
}

/// Forgets all sizes: other code may get the addresses of code that goes.
pub fn forget_all() {
    KNOWN.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

/// Makes the decoder's tables, which the first use would make in the host's thread.
pub fn prepare() {
    code::prepare();
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod code {
    use crate::platform::read_memory;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

    /// Bytes of code that are read. Methods without a frame pointer are short.
    const MAX_BYTES: usize = 512;
    /// Instructions that are read.
    const MAX_INSTRUCTIONS: usize = 96;
    const PAGE: usize = 4096;

    pub(super) fn prepare() {
        let _ = size_of_frame(&[0xC3], 0);
    }

    pub(super) fn frame_size(address: usize) -> Option<usize> {
        let mut bytes = [0; MAX_BYTES];
        let in_page = (PAGE - address % PAGE).min(MAX_BYTES);
        let read = [MAX_BYTES, in_page]
            .into_iter()
            .find(|length| bytes.get_mut(..*length).is_some_and(|bytes| read_memory(address, bytes)));
        size_of_frame(bytes.get(..read?)?, address as u64)
    }

    /// Follows the way out of a method.
    pub(super) fn size_of_frame(bytes: &[u8], address: u64) -> Option<usize> {
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut size = 0_usize;
        for _ in 0..MAX_INSTRUCTIONS {
            if !decoder.can_decode() {
                return None;
            }
            decoder.decode_out(&mut instruction);
            match instruction.mnemonic() {
                Mnemonic::Ret => return Some(size),
                // Any way out gives back the same frame, so only jumps without a condition are followed.
                Mnemonic::Jmp if instruction.op0_kind() == OpKind::NearBranch64 => {
                    let target = instruction.near_branch_target().checked_sub(address)? as usize;
                    decoder.set_position(target).ok()?;
                    decoder.set_ip(address + target as u64);
                }
                _ => size = size.checked_add(given_back(&instruction)?)?,
            }
        }
        None
    }

    /// Returns whether the next instruction may run after one with this mnemonic. iced has a table for that, which would be
    /// a fiftieth of the agent's size.
    pub(super) fn leads_on(mnemonic: Mnemonic) -> bool {
        use Mnemonic::*;
        let ends =
            matches!(mnemonic, Jmp | Jmpe | Ret | Retf | Iret | Iretd | Iretq | Uiret | Rsm | Eretu | Erets)
                || matches!(mnemonic, Sysexit | Sysexitq | Sysret | Sysretq | Xbegin)
                || matches!(mnemonic, Int | Int1 | Int3 | Into | Ud0 | Ud1 | Ud2 | INVALID)
                || matches!(mnemonic, Altinst | Db | Dd | Dmint | Dq | Dw | Rdm | Skinit | Smint);
        !ends
    }

    /// Returns the bytes of stack that an instruction gives back; None if it restores the frame pointer, takes more,
    /// changes the stack in another way, or does not lead to the next instruction.
    fn given_back(instruction: &Instruction) -> Option<usize> {
        let is_stack =
            instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
        match instruction.mnemonic() {
            Mnemonic::Pop if instruction.op0_register() == Register::RBP => None,
            Mnemonic::Pop => Some(size_of::<usize>()),
            Mnemonic::Push | Mnemonic::Leave | Mnemonic::Enter => None,
            mnemonic if !leads_on(mnemonic) => None,
            Mnemonic::Add if is_stack => usize::try_from(instruction.immediate(1) as i64).ok(),
            Mnemonic::Cmp | Mnemonic::Test => Some(0),
            _ if is_stack => None,
            _ => Some(0),
        }
    }
}

/// Elsewhere stacks are not captured.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod code {
    pub(super) fn prepare() {}

    pub(super) fn frame_size(_address: usize) -> Option<usize> {
        None
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::code::{leads_on, size_of_frame};
    use super::*;
    use iced_x86::{Code, FlowControl};

    #[test]
    fn follows_ways_out() {
        let size = |code: &[u8]| size_of_frame(code, 0x7f00_0000_1000);
        // add eax, eax; add rsp, 8; ret
        assert_eq!(size(&[0x01, 0xC0, 0x48, 0x83, 0xC4, 0x08, 0xC3]), Some(8));
        // pop rbx; pop r15; ret
        assert_eq!(size(&[0x5B, 0x41, 0x5F, 0xC3]), Some(16));
        // je +1; nop; add rsp, 0x28; ret
        assert_eq!(size(&[0x74, 0x01, 0x90, 0x48, 0x83, 0xC4, 0x28, 0xC3]), Some(0x28));
        // jmp +1; int3; ret
        assert_eq!(size(&[0xEB, 0x01, 0xCC, 0xC3]), Some(0));
        for with_pointer in [
            // add rsp, 8; pop rbp; ret
            &[0x48, 0x83, 0xC4, 0x08, 0x5D, 0xC3][..],
            // leave; ret
            &[0xC9, 0xC3],
            // lea rsp, [rbp-8]; pop rbx; pop rbp; ret
            &[0x48, 0x8D, 0x65, 0xF8, 0x5B, 0x5D, 0xC3],
            // mov rsp, rbp; ret
            &[0x48, 0x89, 0xEC, 0xC3],
            // int3; a jump out of the code; an endless loop; code that ends; jmp rax; an invalid instruction
            &[0xCC],
            &[0xEB, 0x40],
            &[0xEB, 0xFE],
            &[0x90],
            &[0xFF, 0xE0],
            &[0x06],
        ] {
            assert_eq!(size(with_pointer), None, "{with_pointer:x?}");
        }
    }

    #[test]
    fn knows_what_leads_on() {
        use FlowControl::{Call, ConditionalBranch, IndirectCall, Next};
        let expected =
            |code: &Code| matches!(code.flow_control(), Next | ConditionalBranch | Call | IndirectCall);
        let wrong: Vec<Code> =
            Code::values().filter(|code| leads_on(code.mnemonic()) != expected(code)).collect();
        assert_eq!(wrong, []);
    }

    #[test]
    fn sizes_are_kept_until_forgotten() {
        let mut code = vec![0x48_u8, 0x83, 0xC4, 0x18, 0xC3];
        code.resize(600, 0xCC);
        let address = std::hint::black_box(&code).as_ptr().expose_provenance();
        assert_eq!(frame_size(address), Some(24));
        std::hint::black_box(&mut code)[3] = 0x20;
        assert_eq!(frame_size(address), Some(24));
        forget_all();
        assert_eq!(frame_size(std::hint::black_box(&code).as_ptr().addr()), Some(32));
        assert_eq!(frame_size(8), None, "nothing can be read there");
    }
}
