//! Region bytes between guest RAM and the board: blocking writes and reads of a
//! buffer, wall time less the board's own busy time. The time of the same call with
//! a region of 64 bytes is subtracted.

use crate::bench::{Bench, Effort};
use crate::board::Way;
use crate::cipher::Cipher;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::program::Program;
use crate::sampling::{Times, gb_per_s, in_turn, us};
use crate::socket::{Bare, Kind};
use crate::table;
use gil_host::stand_in::DATA;
use gil_wire::call::Handle;
use gil_wire::message::Direction;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [u64; 5] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20];
/// Below this a call's own time hides what its bytes take.
const JUDGED_FROM: u64 = 1 << 20;
/// A part of what is subtracted by which it varies.
const LOST: u32 = 20;
/// Of memcpy.
const LOCAL: Must = Must::AtLeast(0.8);
/// Of a bare socket.
const TCP: Must = Must::AtLeast(0.95);
/// Of the cipher alone.
const ENCRYPTED: Must = Must::AtLeast(0.8);
/// The guest's pages, in the worst case.
const PAGE: u64 = 4096;
/// Pages scattered up to this size: the stand-in has no room to list more.
const SCATTERED_MOST: u64 = 64 << 20;

/// Both ways, all sizes.
pub fn measure(bench: &Bench<'_>, way: Way) -> Result<Vec<Measured>, BenchError> {
    let most = match bench.effort {
        Effort::Quick => 1 << 20,
        _ => 256 << 20,
    };
    let board = bench.board(way)?;
    let mut program = bench.api.program_with_queue(&board, most)?;
    let buffer = program.buffer(most)?;
    let mut baseline = Baseline::new(way, most as usize)?;
    let mut lines = Vec::new();
    for dir in [Direction::In, Direction::Out] {
        let small = &[(DATA, 64)][..];
        let count = bench.effort.times(500);
        let least = times(&mut *program, buffer, dir, small, count)?.median();
        for size in SIZES.into_iter().filter(|&size| size <= most) {
            for extents in layouts(size) {
                let count = bench.effort.times(rounds(size));
                let (bridge, walls, bare) =
                    pairs(&mut *program, buffer, dir, &extents, &mut baseline, count)?;
                let name = name(dir, size, extents.len());
                let line = baseline.line(name, size, bridge.median(), least, bare.median());
                lines.push(line.bytes(size).detail("call_us", us(walls.median())));
            }
        }
    }
    Ok(lines)
}

/// What the bytes took: nothing, if that is lost beside what is subtracted.
fn own(bridge: Duration, least: Duration) -> Duration {
    let own = bridge.saturating_sub(least);
    if own < least / LOST {
        Duration::ZERO
    } else {
        own
    }
}

fn name(dir: Direction, size: u64, extents: usize) -> String {
    let way = match dir {
        Direction::In => "to the board",
        _ => "from the board",
    };
    let size = table::size(size);
    match extents {
        1 => format!("{size} {way}"),
        _ => format!("{size} {way}, scattered pages"),
    }
}

/// So many that a size takes about as long as the others.
fn rounds(size: u64) -> usize {
    ((1u64 << 30) / size).clamp(5, 500) as usize
}

/// In one piece, and as pages none of which follows the one before it.
fn layouts(size: u64) -> Vec<Vec<(u64, u64)>> {
    let whole = vec![(DATA, size)];
    let pages = size / PAGE;
    let is_scattered = (JUDGED_FROM..=SCATTERED_MOST).contains(&size);
    match is_scattered {
        true => {
            let page = |n| (DATA + (pages - 1 - n) * PAGE, PAGE);
            vec![whole, (0..pages).map(page).collect()]
        }
        false => vec![whole],
    }
}

fn times(
    program: &mut dyn Program,
    buffer: Handle,
    dir: Direction,
    extents: &[(u64, u64)],
    count: usize,
) -> Result<Times, BenchError> {
    let once = |_| Ok(program.transfer(buffer, dir, extents)?.bridge());
    let times: Result<Vec<Duration>, BenchError> = (0..count).map(once).collect();
    times.map(Times::new)
}

/// Time less the board's, whole wall time, and the baseline's.
fn pairs(
    program: &mut dyn Program,
    buffer: Handle,
    dir: Direction,
    extents: &[(u64, u64)],
    baseline: &mut Baseline,
    count: usize,
) -> Result<(Times, Times, Times), BenchError> {
    let len = extents.iter().map(|extent| extent.1).sum::<u64>() as usize;
    let mut walls = Vec::new();
    let transfer = || {
        let took = program.transfer(buffer, dir, extents)?;
        walls.push(took.wall);
        Ok(took.bridge())
    };
    let (bridge, bare) = in_turn(count, transfer, || baseline.copy(dir, len))?;
    Ok((bridge, Times::new(walls), bare))
}

/// The same bytes, without a bridge.
enum Baseline {
    Memory { from: Vec<u8>, to: Vec<u8> },
    Socket(Bare),
    Cipher(Box<Cipher>),
}

impl Baseline {
    fn new(way: Way, most: usize) -> Result<Self, BenchError> {
        Ok(match way {
            Way::Tcp => Self::Socket(Bare::start(Kind::Tcp, most)?),
            Way::Encrypted => Self::Cipher(Box::new(Cipher::new(most)?)),
            Way::Local => Self::Memory {
                from: vec![1; most],
                to: vec![2; most],
            },
        })
    }

    fn bench(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "region",
            Self::Socket(_) => "region-tcp",
            Self::Cipher(_) => "region-encrypted",
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memcpy",
            Self::Socket(_) => "a bare socket",
            Self::Cipher(_) => "the cipher alone",
        }
    }

    /// Of small sizes, for which the call's own time is most, that time.
    fn line(
        &self,
        name: String,
        size: u64,
        bridge: Duration,
        least: Duration,
        bare: Duration,
    ) -> Measured {
        if size < JUDGED_FROM {
            let line = Measured::new(self.bench(), name, "us", us(bridge));
            return line.above(self.name(), us(bare));
        }
        let figure = gb_per_s(size, own(bridge, least));
        Measured::new(self.bench(), name, "GB/s", figure)
            .over(self.name(), gb_per_s(size, bare))
            .must(self.must())
            .detail("bridge_us", us(bridge))
    }

    fn must(&self) -> Must {
        match self {
            Self::Memory { .. } => LOCAL,
            Self::Socket(_) => TCP,
            Self::Cipher(_) => ENCRYPTED,
        }
    }

    fn copy(&mut self, dir: Direction, len: usize) -> Result<Duration, BenchError> {
        match (self, dir) {
            (Self::Memory { from, to }, _) => {
                let start = Instant::now();
                to[..len].copy_from_slice(&black_box(&from[..])[..len]);
                black_box(&mut to[..]);
                Ok(start.elapsed())
            }
            (Self::Cipher(cipher), _) => Ok(cipher.seal(len)?),
            (Self::Socket(bare), Direction::In) => Ok(bare.send(len)?),
            (Self::Socket(bare), _) => Ok(bare.receive(len)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_beside_what_is_subtracted_is_no_figure() {
        let us = Duration::from_micros;
        let line = |bridge| {
            let memory = Baseline::new(Way::Local, 1).unwrap();
            let line = memory.line("1 MiB".into(), 1 << 20, bridge, us(100), us(90));
            line.at(&Default::default(), "2026-01-01")
        };
        for bridge in [us(1), us(100), us(104)] {
            let line = line(bridge);
            assert!(line.figure.is_nan(), "{line:?}");
            assert_eq!(line.held, Some(false));
        }
        assert_eq!(line(us(190)).held, Some(true));
    }
}
