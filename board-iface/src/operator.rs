//! An operator's connection, which asks for the agent's status.

use crate::session::UNOPENED;
use gil_transport::connection::{Connection, Meter};
use gil_transport::error::ConnectionError;
use gil_wire::frame::FrameError;
use gil_wire::message::{Reply, Request};
use gil_wire::status::Status;

/// The answer to other requests.
const ONLY_STATUS: &str = "an operator's connection asks for the agent's status only";

/// Serves it until its end; `status` returns the agent's status.
///
/// # Errors
/// [`ConnectionError`].
pub fn serve(
    mut connection: Connection<impl Meter>,
    mut status: impl FnMut() -> Status,
) -> Result<(), ConnectionError> {
    connection.bound_silence(Some(UNOPENED))?;
    let mut header = Vec::new();
    while let Some(prefix) = connection.receive(&mut header)? {
        let request = postcard::from_bytes(&header).map_err(FrameError::Decode)?;
        let reply = match (request, prefix.payload_len) {
            (Request::Status, 0) => Some(Reply::Status(status())),
            (Request::Ping { nonce }, 0) => Some(Reply::Pong { nonce }),
            (Request::Close, _) => return Ok(()),
            _ => None,
        };
        match reply {
            Some(reply) => connection.reply(&reply, &[], false)?,
            None => {
                connection.refuse(ONLY_STATUS);
                return Ok(());
            }
        }
    }
    Ok(())
}
