//! Calls of CUDA on a driver that runs no kernels, and what is read of modules' images.

use crate::board::GUEST;
use crate::input::Input;
use gil_board::board::{Board, Call};
use gil_board::cuda::CudaBoard;
use gil_board::region::{Budget, Region};
use gil_cuda_common::{array, attribute, image, jit, names, ptx, room};
use gil_wire::Op;
use gil_wire::generated::cuda;
use gil_wire::message::{self, Direction};
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Most calls of an input.
const CALLS_MAX: u64 = 64;
/// Most regions of a call.
const REGIONS_MAX: u8 = 4;

/// The driver of `tests/null-cuda`, or why there is none.
///
/// # Errors
/// What to do.
pub fn device() -> Result<&'static CudaBoard, String> {
    static BOARD: OnceLock<Result<CudaBoard, String>> = OnceLock::new();
    let file = || {
        let given = std::env::var_os("GIL_CUDA_DRIVER").map(PathBuf::from);
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target =
            target.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target").into());
        given.unwrap_or_else(|| target.join("release/libnull_cuda.so"))
    };
    let load = || {
        let file = file();
        CudaBoard::load(&file).map_err(|error| {
            format!(
                "{error} (cargo build --release -p gil-null-cuda makes {})",
                file.display()
            )
        })
    };
    BOARD.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// Regions with bytes of the input, or with as many of others.
fn regions(input: &mut Input<'_>, budget: &Budget) -> Vec<Region> {
    let count = input.u8().min(REGIONS_MAX);
    let region = |_| {
        let len: usize = input.u16().into();
        let dir = Direction::from_raw(input.u8().into());
        let bytes = match input.u8() {
            0 => vec![7; len],
            _ => input.piece(len).to_vec(),
        };
        match dir {
            Some(dir) if dir.is_in() => Region::holding(dir, bytes, budget),
            _ => Region::to_write(len, budget).expect("some bytes"),
        }
    };
    (0..count).map(region).collect()
}

/// Calls with any arguments, on a session that has no objects but those that they make.
/// Nothing is done where the driver is not built.
pub fn dispatch(data: &[u8]) {
    let Ok(board) = device() else {
        return;
    };
    let budget = Budget::new(1 << 20);
    let mut session = board.open(GUEST, &budget).expect("a session");
    let mut input = Input(data);
    for seq in 0..CALLS_MAX {
        if input.is_empty() {
            return;
        }
        let (entry, flags) = (input.u16(), input.u8());
        let event = (flags & 1 != 0).then(|| input.u32().into());
        let args = input.counted();
        let regions = regions(&mut input, &budget);
        let head = message::Call {
            seq,
            op: Op::new(cuda::API, entry),
            thread: 1,
            answer: flags & 2 != 0,
            finish: flags & 4 != 0,
            event,
            args,
            regions: Vec::new(),
        };
        let outcome = session.call(Call {
            head: &head,
            regions,
            budget: &budget,
        });
        drop(outcome);
        if let Some(event) = event.filter(|_| flags & 8 != 0) {
            drop(session.finish(event, &budget));
        }
    }
}

/// An image of a module, its text, and lists of words that travel with calls.
pub fn images(data: &[u8]) {
    let _ = image::image(&data);
    let _ = image::is_whole(data);
    let _ = image::may_print(data);
    for kind in -1..6 {
        let _ = jit::check_input(kind, data);
    }
    let _ = ptx::Module::parse(&String::from_utf8_lossy(data));
    let words: Vec<u64> = data
        .chunks_exact(8)
        .map(|chunk| Input(chunk).u64())
        .collect();
    let _ = names::read(&words);
    let _ = jit::numbers(&words);
    let _ = jit::Told::read(&words);
    let known = room::Room::new(&words);
    let mut input = Input(data);
    let sides = [input.u32(), input.u32(), input.u32()];
    let _ = known.thousandths(sides, [input.u32(), 1, 1], input.u32());
    if let Some(array) = array::Layout::of(&words) {
        let _ = array.size();
        let levels = array.levels();
        let _ = array.level(levels).size();
    }
    for of in [attribute::Of::Stream, attribute::Of::Launch] {
        let _ = attribute::from_words(&words, of);
        let value = std::array::from_fn(|at| data.get(at).copied().unwrap_or_default());
        let _ = attribute::Attribute::read(c_int::from(input.u8()), &value, of);
    }
}
