//! The OpenCL back end.

pub mod operations;
use crate::board::{Board, BoardError, Guest, Session};
use gil_wire::message::DeviceInfo;

/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct OpenClError;
/// x
pub struct OpenClBoard;
impl OpenClBoard {
    /// x
    pub fn load() -> Result<Self, OpenClError> {
        Ok(Self)
    }
}
impl Board for OpenClBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        vec![]
    }
    fn open(&self, _: Guest) -> Result<Box<dyn Session>, BoardError> {
        Err(OpenClError.into())
    }
}
