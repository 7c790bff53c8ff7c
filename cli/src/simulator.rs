//! What a run needs from a simulator. Each simulator is a module that implements this
//! trait; everything shared is outside.

mod error;
pub mod gem5;
pub mod qemu;

use crate::args::{RunArgs, Sim};
use crate::signals::Signalled;
use gem5::Gem5;
use gil_board_client::boards::Options;
use gil_guest_image::assets::HostPart;
use gil_guest_image::guest::Guest;
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use gil_wire::control::Stream;
use nix::sys::signal::Signal;
use qemu::Qemu;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use error::SimulatorError;

/// A FIFO of the simulator's.
#[derive(Clone, Copy, Debug)]
pub enum Pipe {
    /// The program's output.
    Output(Stream),
    /// Lines about watched functions.
    Watch,
}

/// How a simulator is ended before the program ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// The signal that asks it to end.
    pub signal: Signal,
    /// How long it may take to write what it still has to write.
    pub patience: std::time::Duration,
}

/// A simulator for one run.
pub trait Simulator {
    /// Its name, for sentences.
    fn name(&self) -> &'static str;

    /// Looks whether it is there and will do, before anything is fetched or
    /// built.
    ///
    /// # Errors
    /// [`SimulatorError`] says what is missing.
    fn check(&self, signalled: &Signalled) -> Result<(), SimulatorError>;

    /// The part of gil that it loads.
    fn part(&self) -> HostPart;

    /// Puts what it reads into the run's folder.
    ///
    /// # Errors
    /// [`SimulatorError`] says what cannot be had or written.
    fn lay_out(
        &mut self,
        guest: &Guest,
        at: &Path,
        progress: &Progress,
    ) -> Result<(), SimulatorError>;

    /// The command that simulates what was laid out, with the boards there.
    fn command(&self, at: &Path, boards: &Options) -> Command;

    /// Whether it asks the board before [`Simulator::begin`].
    fn connects_at_once(&self) -> bool {
        false
    }

    /// Starts the simulation, if the simulator waits for a command to do so.
    ///
    /// # Errors
    /// [`SimulatorError`] if it does not; nothing, if it ended and its log says why.
    fn begin(&self, _at: &Path, _process: &mut Owned) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Where the guest's kernel writes, if one runs.
    fn console(&self, at: &Path) -> Option<PathBuf>;

    /// Where the simulator's own words go.
    fn log(&self, at: &Path) -> PathBuf;

    /// FIFOs in the run's folder, through which comes what the bridge in the
    /// simulator does not tell.
    fn pipes(&self) -> Vec<(Pipe, &'static str)> {
        Vec::new()
    }

    /// What goes on once it is loaded.
    fn loaded(&self) -> &'static str;

    /// The way in which it is ended.
    fn ending(&self) -> Ending;

    /// The folder of its own output, if it has one.
    fn outdir(&self) -> Option<&Path> {
        None
    }
}

/// The simulator that was asked for.
///
/// # Errors
/// [`SimulatorError::Options`] for options that are another simulator's.
pub fn choose(args: &RunArgs) -> Result<Box<dyn Simulator + '_>, SimulatorError> {
    match args.sim {
        Some(Sim::Gem5) => Ok(Box::new(Gem5::new(args)?)),
        Some(Sim::Qemu) | None => Ok(Box::new(Qemu::new(args)?)),
    }
}
