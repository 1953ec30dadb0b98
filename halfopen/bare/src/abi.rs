//! The interface, as C has it.
//!
//! ```c
//! uint8_t *halfopen_alloc(size_t len);
//! void     halfopen_free(uint8_t *block, size_t len);
//! size_t   halfopen_replay(const uint8_t *log, size_t len, uint8_t *told, size_t room);
//! ```
//!
//! Owns all that is unsafe, because it takes the host's word for pointers and
//! lengths; texts are those of [`events`]. Invariant: it touches the memory
//! that it was given, and keeps nothing. Cost: the answer is made anew by each
//! call. Pinned by the tests below.
#![allow(
    unsafe_code,
    reason = "a host hands over pointers and lengths, and finds functions by unmangled names"
)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::ptr;
use core::slice;

use crate::events;

/// Gives a block of `len` zeroed bytes, for a log or for what comes of it.
#[unsafe(no_mangle)]
pub extern "C" fn halfopen_alloc(len: usize) -> *mut u8 {
    let block: Box<[u8]> = vec![0; len].into();
    Box::into_raw(block).cast()
}

/// Takes a block back.
///
/// # Safety
///
/// It is one that [`halfopen_alloc`] gave, with the length that was asked for,
/// and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn halfopen_free(block: *mut u8, len: usize) {
    // SAFETY: it was made of such a box, as the caller promises.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(block, len)) });
}

/// Plays the log in `log`, and writes to `told` what came of it, or `error: `
/// and what is wrong with the log. Gives how long that is: if it is longer
/// than `room`, only its beginning was written.
///
/// # Safety
///
/// At `log` there are `len` bytes to be read, and at `told`, elsewhere, `room`
/// bytes to be written. With a length of 0 the pointer may be anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn halfopen_replay(
    log: *const u8,
    len: usize,
    told: *mut u8,
    room: usize,
) -> usize {
    let log = match len {
        0 => &[],
        // SAFETY: there are so many bytes to be read, as the caller promises.
        _ => unsafe { slice::from_raw_parts(log, len) },
    };
    let answer = answer(log);
    // SAFETY: so many bytes may be written, as the caller promises; the answer
    // is a block of its own.
    unsafe { ptr::copy_nonoverlapping(answer.as_ptr(), told, answer.len().min(room)) };
    answer.len()
}

fn answer(log: &[u8]) -> String {
    let told = match str::from_utf8(log) {
        Ok(log) => events::replay(log),
        Err(_) => Err("the log is not UTF-8".into()),
    };
    told.unwrap_or_else(|wrong| alloc::format!("error: {wrong}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "open=7ns\n1 open\n5 acquire\n";
    const TOLD: &str = "1 1 closed open manual 0 0 0\nend open 1 0 0 0 - - 1 0 0 1 0\n";

    /// What the module's host does, given so much room.
    fn replay(log: &[u8], room: usize) -> (usize, alloc::vec::Vec<u8>) {
        let (from, to) = (halfopen_alloc(log.len()), halfopen_alloc(room));
        // SAFETY: both blocks are as long as it says, and are not used again.
        unsafe {
            ptr::copy_nonoverlapping(log.as_ptr(), from, log.len());
            let len = halfopen_replay(from, log.len(), to, room);
            let told = slice::from_raw_parts(to, room).to_vec();
            halfopen_free(from, log.len());
            halfopen_free(to, room);
            (len, told)
        }
    }

    #[test]
    fn no_more_is_written_than_there_is_room_for() {
        for room in 0..TOLD.len() + 3 {
            let (len, told) = replay(LOG.as_bytes(), room);
            assert_eq!(len, TOLD.len());
            let mut expected = TOLD.as_bytes().to_vec();
            expected.resize(room, 0);
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_is_no_log_is_an_answer_too() {
        for (log, begins) in [
            (&b""[..], "end closed"),
            (b"\xff", "error: the log is not UTF-8\n"),
            (b"\n1 aquire", "error: line 2: `1 aquire` is not "),
        ] {
            let (len, told) = replay(log, 200);
            assert!(told[..len].starts_with(begins.as_bytes()));
        }
        // SAFETY: nothing is read, and nothing written.
        let len = unsafe { halfopen_replay(ptr::null(), 0, ptr::null_mut(), 0) };
        assert!(len > 0);
    }
}
