//! The memory allocator of the process.

/// A larger memory block, in bytes, is mapped separately and returned to the system as soon as it
/// is free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 4 << 20;

/// Keeps that size what it is. glibc raises it to that of each mapped block that is freed, up
/// to 32 MB, and tables that grow between others then leave holes, in which nothing fits: a
/// compaction of two million messages took 176 MB instead of 100.
///
/// What is free at the end of the heap is kept up to the same size. With glibc's 128 KB each
/// conversation of a batch gives its pages back, and the next one has to ask for them again: that
/// was a quarter of the time.
pub(crate) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)] // No safe wrapper has it.
    // SAFETY: mallopt takes two numbers, no other thread runs yet, and where it refuses them
    // nothing changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MAPPED);
    }
}
