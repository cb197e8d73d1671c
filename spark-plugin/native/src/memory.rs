//! What the readers of this process hold, so that a test can tell that nothing is left of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static READERS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

/// Readers that were opened and not closed.
pub fn readers() -> i64 {
    READERS.load(Relaxed)
}

/// Bytes that this library has allocated and not freed, batches that it lent among them.
pub fn bytes() -> i64 {
    BYTES.load(Relaxed)
}

/// One reader, for as long as it is there.
pub struct Counted;

impl Counted {
    pub fn new() -> Self {
        READERS.fetch_add(1, Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Relaxed);
    }
}

/// The system's allocator, counted: what it gives is large, and two additions are not noticed.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        counted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            BYTES.fetch_add(size as i64 - layout.size() as i64, Relaxed);
        }
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

fn counted(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        BYTES.fetch_add(size as i64, Relaxed);
    }
    block
}
