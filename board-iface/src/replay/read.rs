//! Reports and output as they follow a message, in a recording or from a board.

use crate::board::{Ended, Output};
use crate::region::{Budget, OverBudget, Region};
use gil_transport::memory::OutOfMemory;
use gil_wire::message::{Direction, PRINTED_MAX, RegionDesc, Report};
use std::io::{self, Read};
use std::path::PathBuf;

/// Why they cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// What they are read from.
    #[error("what follows a message cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The recording is another file's contents by now.
    #[error(
        "the recording {} changed while the run was answered from it: run again once nothing writes to it", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// More text than anybody has room for.
    #[error("the recording is damaged: an operation printed {0} bytes, the bound is {PRINTED_MAX}")]
    Printed(u64),
    /// The session's bound.
    #[error(transparent)]
    Budget(#[from] OverBudget),
    /// This machine's memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl ReadError {
    /// Whether there was no memory, as there may be in any session.
    pub fn is_for_want_of_memory(&self) -> bool {
        matches!(self, Self::Budget(_) | Self::Memory(_))
    }
}

/// How an operation ended, and what it wrote.
///
/// # Errors
/// [`ReadError`].
pub fn report_of(
    report: &Report,
    payload: &mut impl Read,
    budget: &Budget,
) -> Result<Ended, ReadError> {
    Ok(Ended {
        event: report.event,
        duration_ns: report.duration_ns,
        ending: report.ending,
        out: outputs(&report.out, payload, budget)?,
        printed: text(report.printed, payload)?,
        rejected: report.rejected,
    })
}

/// Output of these lengths.
///
/// # Errors
/// [`ReadError`].
pub fn outputs(
    lens: &[u64],
    payload: &mut impl Read,
    budget: &Budget,
) -> Result<Vec<Output>, ReadError> {
    let mut outputs = Vec::new();
    for len in lens {
        budget.check(&[RegionDesc {
            len: *len,
            dir: Direction::Out,
        }])?;
        let bytes = usize::try_from(*len).map_err(|_| OutOfMemory(usize::MAX))?;
        let mut region = Region::to_write(bytes, budget)?;
        payload.read_exact(region.bytes_mut())?;
        outputs.push(Output::whole(region));
    }
    Ok(outputs)
}

fn text(len: u64, payload: &mut impl Read) -> Result<Vec<u8>, ReadError> {
    if len > PRINTED_MAX {
        return Err(ReadError::Printed(len));
    }
    let mut text = vec![0; len as usize];
    payload.read_exact(&mut text)?;
    Ok(text)
}
