//! The GPU in a simulator's checkpoint.

use super::{Registers, Running};
use gil_gpu_registers::{Gpu, Model};
use serde::{Deserialize, Serialize};

/// Why a GPU cannot be kept, or made again.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The run has another, or none.
    #[error(
        "the checkpoint was taken with --gpu {saved}, and this run has {}: restore it with the same GPU",
        .found.map_or("none", Gpu::name)
    )]
    Other {
        /// The checkpoint's.
        saved: String,
        /// This run's.
        found: Option<Gpu>,
    },
    /// What is in the checkpoint is none.
    #[error("the checkpoint's GPU cannot be read ({0}): take the checkpoint again")]
    State(#[from] postcard::Error),
}

/// Registers, jobs and their ends. The memory of jobs is the guest's: a board gets it anew.
#[derive(Serialize, Deserialize)]
struct Saved<'a> {
    model: std::borrow::Cow<'a, Model>,
    running: Vec<Running>,
    now_ns: u64,
    registers: u64,
    hz: u64,
}

impl Registers {
    /// Which GPU it is.
    pub fn gpu(&self) -> Gpu {
        self.place.gpu
    }

    /// Its state, for [`restore`](Self::restore).
    ///
    /// # Errors
    /// [`SavedError::State`] if it cannot be written.
    pub fn save(&self) -> Result<Vec<u8>, SavedError> {
        let saved = Saved {
            model: std::borrow::Cow::Borrowed(&self.model),
            running: self.running.clone(),
            now_ns: self.now_ns,
            registers: self.registers,
            hz: self.clock.hz(),
        };
        Ok(postcard::to_allocvec(&saved)?)
    }

    /// Becomes what another was when it was saved: its jobs end when they would have.
    ///
    /// # Errors
    /// [`SavedError::State`] if these bytes are no GPU's, [`SavedError::Other`] if they are of another;
    /// nothing has changed then.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SavedError> {
        let saved: Saved<'_> = postcard::from_bytes(bytes)?;
        let of = match *saved.model {
            Model::MaliT628(_) => Gpu::MaliT628,
            Model::Mali400(_) => Gpu::Mali400,
        };
        if of != self.place.gpu {
            return Err(SavedError::Other {
                saved: of.name().into(),
                found: Some(self.place.gpu),
            });
        }
        self.model = saved.model.into_owned();
        self.running = saved.running;
        self.now_ns = saved.now_ns;
        self.registers = saved.registers;
        self.clock.set_near(saved.hz);
        self.windows.clear();
        self.frame = None;
        Ok(())
    }
}
