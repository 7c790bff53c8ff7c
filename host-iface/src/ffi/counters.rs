//! Counters for a simulator's own statistics: answers, sums, entry points.

use super::{R, copy_text, gil_host, gil_host_result, guarded, with};
use crate::host::Rung;
use crate::stats::Counters;
use gil_report::Program;
use gil_wire::Op;
use gil_wire::generated::APIS;
use std::ffi::{c_char, c_int};

/// `gil_host_answer`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_host_answer {
    /// Its size: which version of this structure the caller knows.
    pub size: u64,
    /// The session.
    pub session: u64,
    /// The submission's number.
    pub seq: u64,
    /// `GIL_MBOX_*`.
    pub kind: u32,
    /// `GIL_STATUS_*`.
    pub status: u32,
    /// `GIL_WAIT_*`.
    pub wait_kind: u32,
    /// `GIL_FLAG_*`.
    pub flags: u32,
    /// Guest nanoseconds at the doorbell.
    pub now_ns: u64,
    /// Guest nanoseconds until when the thread waits.
    pub deadline_ns: u64,
    /// Guest nanoseconds when the driver rings by itself.
    pub attention_ns: u64,
}

/// `gil_host_counters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_host_counters {
    /// Its size: which version of this structure the caller knows.
    pub size: u64,
    /// See [`Counters`], for this and all that follow.
    pub doorbells: u64,
    /// Calls.
    pub calls: u64,
    /// Of these, posts.
    pub posts: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
    /// Outputs delivered late.
    pub late_deliveries: u64,
    /// Device time.
    pub gpu_ns: u64,
    /// The board's CPU time.
    pub board_cpu_ns: u64,
    /// Delays.
    pub wait_ns: u64,
    /// What guest instructions took beyond the calls' time.
    pub excess_ns: u64,
    /// Wall time of the host interface's own work.
    pub bridge_wall_ns: u64,
    /// Wall time in doorbells.
    pub doorbell_wall_ns: u64,
    /// Open sessions.
    pub sessions: u64,
}

/// `gil_host_entry`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_host_entry {
    /// Its size: which version of this structure the caller knows.
    pub size: u64,
    /// Calls.
    pub calls: u64,
    /// Device time.
    pub gpu_ns: u64,
    /// The board's CPU time.
    pub board_cpu_ns: u64,
    /// Wall time of its doorbells.
    pub wall_ns: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
}

/// A structure whose first field says its size.
///
/// # Safety
/// Only for structures that begin with that `u64`, and hold integers only.
unsafe trait Sized8: Copy {}
// SAFETY: begins with `size`, integers only.
unsafe impl Sized8 for gil_host_answer {}
// SAFETY: as above.
unsafe impl Sized8 for gil_host_counters {}
// SAFETY: as above.
unsafe impl Sized8 for gil_host_entry {}

/// Writes `value`, if the caller's structure is this library's.
///
/// # Safety
/// `out` is NULL, or has as many writable bytes as its first field says.
unsafe fn put<T: Sized8>(out: *mut T, value: T) -> R {
    // SAFETY: the size is read before the rest, as the caller promises.
    let size = unsafe { out.cast::<u64>().as_ref() };
    if size != Some(&(size_of::<T>() as u64)) {
        return R::BadArgument;
    }
    // SAFETY: it has the size of the structure.
    unsafe { out.write(value) };
    R::Ok
}

impl From<Rung> for gil_host_answer {
    fn from(rung: Rung) -> Self {
        Self {
            size: size_of::<Self>() as u64,
            session: rung.session,
            seq: rung.seq,
            kind: rung.kind,
            status: rung.status,
            wait_kind: rung.wait_kind,
            flags: rung.flags,
            now_ns: rung.now_ns,
            deadline_ns: rung.deadline_ns,
            attention_ns: rung.attention_ns,
        }
    }
}

impl From<Counters> for gil_host_counters {
    fn from(counters: Counters) -> Self {
        Self {
            size: size_of::<Self>() as u64,
            doorbells: counters.doorbells,
            calls: counters.calls,
            posts: counters.posts,
            bytes_to_board: counters.bytes_to_board,
            bytes_from_board: counters.bytes_from_board,
            late_deliveries: counters.late_deliveries,
            gpu_ns: counters.gpu_ns,
            board_cpu_ns: counters.board_cpu_ns,
            wait_ns: counters.wait_ns,
            excess_ns: counters.excess_ns,
            bridge_wall_ns: counters.bridge_wall_ns,
            doorbell_wall_ns: counters.doorbell_wall_ns,
            sessions: counters.sessions,
        }
    }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle; `state` and `code` are each NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_program(
    host: *mut gil_host,
    state: *mut c_int,
    code: *mut c_int,
) -> gil_host_result {
    let tell = |host: &gil_host| {
        let (is, exit) = program_state(&host.host.program());
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(state) = state.as_mut() {
                *state = is;
            }
            if let Some(code) = code.as_mut() {
                *code = exit;
            }
        }
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, tell) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_program_started(
    host: *mut gil_host,
    now_ns: u64,
) -> gil_host_result {
    let tell = |host: &gil_host| {
        host.host.program_started(now_ns);
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, tell) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_program_exited(
    host: *mut gil_host,
    now_ns: u64,
    code: c_int,
) -> gil_host_result {
    let tell = |host: &gil_host| {
        host.host.program_exited(now_ns, code);
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, tell) }
}

/// `GIL_HOST_PROGRAM_*`, and the exit code as a shell has it.
fn program_state(program: &Program) -> (c_int, c_int) {
    match program {
        Program {
            failure: Some(failure),
            ..
        } => (2, failure.code.into()),
        Program {
            ended: true,
            exit_code,
            signal,
            ..
        } => {
            let signal = signal.map(|number| 128 + number);
            (2, exit_code.or(signal).unwrap_or_default())
        }
        Program { started: true, .. } => (1, 0),
        _ => (0, 0),
    }
}

/// Every entry point of every API, in the order of their numbers.
fn entry_points() -> impl Iterator<Item = (Op, &'static str)> {
    APIS.iter().flat_map(|api| {
        let calls = api.calls.iter();
        calls.map(|call| (Op::new(api.number, call.entry), call.name))
    })
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle; `answer` is NULL or as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_ring(
    host: *mut gil_host,
    gpa: u64,
    instructions: u64,
    answer: *mut gil_host_answer,
) -> gil_host_result {
    let ring = |host: &gil_host| {
        // SAFETY: as the caller promises.
        let size = unsafe { answer.cast::<u64>().as_ref() };
        if size != Some(&(size_of::<gil_host_answer>() as u64)) {
            return R::BadArgument;
        }
        match host.doorbell(gpa, instructions) {
            // SAFETY: as the caller promises.
            Ok(rung) => unsafe { put(answer, rung.into()) },
            Err(result) => result,
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, ring) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle; `out` is NULL or as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_count(
    host: *mut gil_host,
    out: *mut gil_host_counters,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    let count = |host: &gil_host| unsafe { put(out, host.host.counters().into()) };
    // SAFETY: as the caller promises.
    unsafe { with(host, count) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `name` is NULL or has `cap` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_entry_name(
    index: u32,
    name: *mut c_char,
    cap: usize,
) -> gil_host_result {
    guarded(|| match entry_points().nth(index as usize) {
        Some((_, found)) => {
            // SAFETY: as the caller promises.
            unsafe { copy_text(found, name, cap) };
            R::Ok
        }
        None => R::BadArgument,
    })
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle; `out` is NULL or as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_count_entry(
    host: *mut gil_host,
    index: u32,
    out: *mut gil_host_entry,
) -> gil_host_result {
    let count = |host: &gil_host| {
        let Some((op, _)) = entry_points().nth(index as usize) else {
            return R::BadArgument;
        };
        let entry = host.host.entry(op).unwrap_or_default();
        let value = gil_host_entry {
            size: size_of::<gil_host_entry>() as u64,
            calls: entry.count,
            gpu_ns: entry.gpu_ns,
            board_cpu_ns: entry.board_cpu_ns,
            wall_ns: entry.wall_ns,
            bytes_to_board: entry.bytes_to_board,
            bytes_from_board: entry.bytes_from_board,
        };
        // SAFETY: as the caller promises.
        unsafe { put(out, value) }
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, count) }
}
