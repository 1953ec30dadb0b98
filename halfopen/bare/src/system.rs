//! What is the system's elsewhere.
//!
//! Owns the memory and the end of a panic. Invariant: neither asks the host
//! for anything. Only in the module: natively, tests have those of `std`.

use core::panic::PanicInfo;

use dlmalloc::GlobalDlmalloc;

/// The one that `std` has there: it grows the memory, and ends the module when
/// a block comes back with another length.
#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

/// Ends the module at once. It would be a fault of this crate: halfopen does
/// not panic.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
