//! Memory that is about to be filled.

/// Have the system make all pages that lie within, which takes less than one by one, as they are written to.
pub fn make(start: *mut u8, len: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let from = start.addr().next_multiple_of(PAGE);
        let to = (start.addr() + len) / PAGE * PAGE;
        if from < to {
            // A hint: that it cannot be followed does not matter.
            unsafe { libc::madvise(start.with_addr(from).cast(), to - from, libc::MADV_POPULATE_WRITE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len);
}
