//! Memory that holds code: written first, then executable, and never both.

use std::ffi::c_void;
use std::sync::OnceLock;

pub struct Memory {
    start: *mut c_void,
    size: usize,
}

// Nothing writes to it after it was made.
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    /// None where the system has none, or lets none become executable.
    pub fn of(code: &[u8]) -> Option<Self> {
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = unsafe { libc::mmap(std::ptr::null_mut(), code.len(), writable, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let size = code.len();
        let memory = Self { start, size };
        let done = unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), start.cast(), size);
            libc::mprotect(start, size, libc::PROT_READ | libc::PROT_EXEC)
        };
        (done == 0).then_some(memory)
    }

    /// Whether the system lets memory become executable; found out once.
    pub fn is_allowed() -> bool {
        static FOUND: OnceLock<bool> = OnceLock::new();
        *FOUND.get_or_init(|| Self::of(&[0]).is_some())
    }

    pub fn at(&self, offset: usize) -> *const c_void {
        debug_assert!(offset < self.size);
        unsafe { self.start.cast::<u8>().add(offset).cast() }
    }

    /// Bytes, of whole pages.
    pub fn size(&self) -> usize {
        const PAGE: usize = 4096;
        self.size.next_multiple_of(PAGE)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.start, self.size) };
    }
}
