//! Control calls to the host interface. They take no simulated time.

use crate::Error;
use gil_guest::{Client, entry};
use gil_wire::Op;
use gil_wire::control::{self, Channel, Console, Exchanged, Exited, Failed, Started, Stream};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::input::{Ask, Given};
use serde::Serialize;

/// Most bytes in one console call: with its envelope it fits a submission.
pub const CHUNK: usize = 4096;

/// Receives reports of what the program does.
pub trait Host {
    /// The program wrote; at most [`CHUNK`] bytes.
    ///
    /// # Errors
    /// [`Error::Device`], as for the others.
    fn console(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Error>;
    /// The program is about to be executed.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn started(&mut self, process: u32) -> Result<(), Error>;
    /// The program ended, and all it wrote was passed on.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn exited(&mut self, ended: Exited) -> Result<(), Error>;
    /// Asks for what the program is to read. The answer is decoded in `room`;
    /// there is none if nobody answers.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn ask<'a>(&mut self, ask: Ask, room: &'a mut [u8]) -> Result<Option<Given<'a>>, Error>;
    /// The program could not be run.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn failed(&mut self, code: u8, reason: &str) -> Result<(), Error>;
}

/// The host interface in the simulator, through `/dev/gil`.
#[derive(Debug)]
pub struct Simulator(&'static Client);

impl Simulator {
    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none, or no simulator that answers.
    pub fn open() -> Result<Self, Error> {
        Ok(Self(gil_guest::client()?))
    }

    fn call(&self, op: Op, args: &impl Serialize) -> Result<(), Error> {
        let call = Envelope::new(op, Class::Query, entry());
        Ok(self.0.forward(&call, args, |_| ())?)
    }
}

impl Host for Simulator {
    fn console(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Error> {
        self.call(control::CONSOLE, &Console { stream, bytes })
    }

    fn started(&mut self, process: u32) -> Result<(), Error> {
        self.call(control::STARTED, &Started { process })
    }

    fn exited(&mut self, ended: Exited) -> Result<(), Error> {
        self.call(control::EXITED, &ended)
    }

    fn ask<'a>(&mut self, ask: Ask, room: &'a mut [u8]) -> Result<Option<Given<'a>>, Error> {
        let message = postcard::to_stdvec(&ask).map_err(gil_guest::Error::Answer)?;
        let exchanged = self.0.exchange(Channel::Input, &message, room)?;
        let Exchanged::Answered { len } = exchanged else {
            return Ok(None);
        };
        Ok(postcard::from_bytes(&room[..len as usize]).ok())
    }

    fn failed(&mut self, code: u8, reason: &str) -> Result<(), Error> {
        let reason = reason.to_owned();
        self.call(control::FAILED, &Failed { code, reason })
    }
}
