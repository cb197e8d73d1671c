//! Memory for many objects.
//!
//! CPython maps it an arena at a time, of which the system makes each page when it is first written to. Where an arena
//! is going to be filled, to have all of its pages made at once takes less.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;

use super::pages;

/// Fewer values than these may leave an arena half empty.
const FEWEST: usize = 50_000;

struct Allocator(ffi::PyObjectArenaAllocator);

// Its context is CPython's own, which asks for arenas by one thread at a time.
unsafe impl Send for Allocator {}
unsafe impl Sync for Allocator {}

static BELOW: OnceLock<Allocator> = OnceLock::new();
static FILLED: AtomicUsize = AtomicUsize::new(0);

/// Have the arenas of this process be mapped so while there is a `Filled`.
fn install() {
    if BELOW.get().is_some() {
        return;
    }
    unsafe {
        let mut below = std::mem::zeroed();
        ffi::PyObject_GetArenaAllocator(&mut below);
        let mut above = ffi::PyObjectArenaAllocator {
            alloc: Some(alloc),
            ..below
        };
        if BELOW.set(Allocator(below)).is_ok() {
            ffi::PyObject_SetArenaAllocator(&mut above);
        }
    }
}

extern "C" fn alloc(context: *mut c_void, size: usize) -> *mut c_void {
    let Some(below) = BELOW.get().and_then(|below| below.0.alloc) else {
        return std::ptr::null_mut();
    };
    let arena = below(context, size);
    if !arena.is_null() && FILLED.load(Ordering::Relaxed) > 0 {
        pages::make(arena.cast(), size);
    }
    arena
}

/// So many values are about to be made. Python's lock is held.
pub struct Filled(());

impl Filled {
    pub fn by(values: usize) -> Option<Self> {
        (values >= FEWEST).then(|| {
            install();
            FILLED.fetch_add(1, Ordering::Relaxed);
            Self(())
        })
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        FILLED.fetch_sub(1, Ordering::Relaxed);
    }
}
