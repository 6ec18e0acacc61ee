//! Reads of metadata while the module begins to unload, from a stand-in for the runtime's object.

use super::bindings::{IMetaDataImport_Vtbl, IMetaDataImport2, IMetaDataImport2_Vtbl};
use super::hresult::E_FAIL;
use super::loaded_module::ModuleLife;
use super::metadata::Import;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::time::Instant;
use windows_core::{HRESULT, Interface};

const S_OK: HRESULT = HRESULT(0);
/// Words of the interface's table of functions.
const FUNCTIONS: usize = size_of::<IMetaDataImport2_Vtbl>() / size_of::<usize>();
/// A list that nothing ends would be longer.
const MOST_BATCHES: u32 = 10;

/// Metadata with endless lists and a name for every token. Its module begins to unload in the middle of one read.
#[repr(C)]
struct EndlessMetadata<'a> {
    functions: *const usize,
    life: &'a ModuleLife,
    /// The read after which the module begins to unload.
    last: u32,
    /// Reads so far.
    reads: Cell<u32>,
    closed: Cell<u32>,
}

impl EndlessMetadata<'_> {
    /// Calls `test` with metadata of a module that begins to unload in the middle of the read with this number.
    fn with(last: u32, test: impl FnOnce(&Import, &EndlessMetadata<'_>)) {
        // Whatever a test does not expect fails.
        let mut functions = [fail as *const () as usize; FUNCTIONS];
        let mut set =
            |offset: usize, function: *const ()| functions[offset / size_of::<usize>()] = function as usize;
        set(size_of::<usize>(), count as *const ());
        set(2 * size_of::<usize>(), count as *const ());
        set(offset_of!(IMetaDataImport_Vtbl, CloseEnum), close as *const ());
        set(offset_of!(IMetaDataImport_Vtbl, EnumMethods), list as *const ());
        set(offset_of!(IMetaDataImport_Vtbl, GetTypeDefProps), name as *const ());
        let life = ModuleLife::sample(7);
        let metadata = EndlessMetadata {
            functions: functions.as_ptr(),
            life: &life,
            last,
            reads: Cell::new(0),
            closed: Cell::new(0),
        };
        {
            let loaded = life.loaded().expect("it is loaded");
            let pointer = std::ptr::from_ref(&metadata).cast_mut().cast::<c_void>();
            // SAFETY: the object begins with a pointer to a table as large as the interface's, and outlives the interface.
            let import = unsafe { IMetaDataImport2::from_raw(pointer) };
            test(&Import::new(&loaded, import), &metadata);
        }
        assert!(life.is_gone() && life.loaded().is_none(), "no reader begins");
        assert!(life.wait_for_readers(Instant::now()), "the reader has left");
    }

    fn read(&self) {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == self.last {
            self.life.end();
        }
    }
}

/// Returns the object of a call.
///
/// # Safety
/// `this` is the pointer made by [`EndlessMetadata::with`].
unsafe fn object<'a>(this: *mut c_void) -> &'a EndlessMetadata<'a> {
    // SAFETY: this function's own contract.
    unsafe { &*this.cast() }
}

extern "system" fn fail() -> HRESULT {
    E_FAIL
}

/// `AddRef` and `Release`: the test owns the object.
extern "system" fn count(_: *mut c_void) -> u32 {
    1
}

unsafe extern "system" fn close(this: *mut c_void, _: *mut c_void) {
    // SAFETY: called through the interface.
    let closed = unsafe { &object(this).closed };
    closed.set(closed.get() + 1);
}

unsafe extern "system" fn list(
    this: *mut c_void,
    handle: *mut *mut c_void,
    _: u32,
    tokens: *mut u32,
    max: u32,
    count: *mut u32,
) -> HRESULT {
    // SAFETY: called through the interface, with room for `max` tokens.
    let reads = unsafe {
        handle.write(std::ptr::without_provenance_mut(1));
        (0..max).for_each(|place| tokens.add(place as usize).write(0x0600_0001 + place));
        count.write(max);
        object(this).read();
        object(this).reads.get()
    };
    if reads < MOST_BATCHES { S_OK } else { E_FAIL }
}

unsafe extern "system" fn name(
    this: *mut c_void,
    _: u32,
    name: *mut u16,
    _: u32,
    units: *mut u32,
    _: *mut u32,
    _: *mut u32,
) -> HRESULT {
    // SAFETY: called through the interface, with a buffer for a name and its end.
    unsafe {
        name.write(u16::from(b'N'));
        name.add(1).write(0);
        units.write(2);
        object(this).read();
    }
    S_OK
}

#[test]
fn lists_end_once_the_module_unloads() {
    EndlessMetadata::with(2, |import, metadata| {
        let methods = import.methods_of(0x0200_0002);
        assert_eq!((metadata.reads.get(), metadata.closed.get()), (2, 1));
        assert!(methods.len().is_multiple_of(2) && methods.first() == methods.get(methods.len() / 2));
        assert!(import.methods_of(0x0200_0002).is_empty(), "a later list is empty");
        assert_eq!(metadata.reads.get(), 2, "nothing is read");
    });
}

#[test]
fn names_are_not_read_once_the_module_unloads() {
    EndlessMetadata::with(2, |import, metadata| {
        for _ in 0..2 {
            assert_eq!(import.type_def_name(0x0200_0002).expect("it is loaded"), "N");
        }
        let refused = import.type_def_name(0x0200_0002).expect_err("it unloads");
        assert_eq!((refused.hresult, metadata.reads.get()), (E_FAIL, 2));
        assert!(import.stand_alone_sig(0x1100_0001).is_err());
    });
}
