//! A session's part of a checkpoint: sends its contents to the host interface, and
//! receives them from there.

use super::{Server, SessionError};
use crate::board::Unable;
use gil_transport::memory::OutOfMemory;
use gil_wire::message::{Direction, RegionDesc, Reply, Request};

impl Server<'_> {
    /// Serves a request that concerns checkpoints.
    pub(super) fn checkpoint(&mut self, request: &Request<'_>) -> Result<(), SessionError> {
        if self.session.is_none() {
            return Err(SessionError::NothingOpen);
        }
        let filled = match request {
            Request::Fill { len, .. } => self.contents(*len)?,
            _ => Ok(Vec::new()),
        };
        let answer = filled.and_then(|bytes| self.kept_or_restored(request, &bytes));
        let (reply, payload) = answer.unwrap_or_else(|Unable(reason)| {
            tracing::warn!("{reason}");
            (Reply::Unable { reason }, Vec::new())
        });
        Ok(self.connection.reply(&reply, &[&payload], false)?)
    }

    /// The answer, and its payload.
    fn kept_or_restored(
        &mut self,
        request: &Request<'_>,
        bytes: &[u8],
    ) -> Result<(Reply<'static>, Vec<u8>), Unable> {
        let session = self.session.as_mut().expect("checked by checkpoint()");
        match request {
            Request::Survey => return Ok((Reply::Survey(session.survey()), Vec::new())),
            Request::Fetch { api, object } => {
                let fetched = session.fetch(*api, *object);
                return fetched.map(|bytes| (Reply::Contents, bytes));
            }
            Request::Fill { api, object, .. } => session.fill(*api, *object, bytes)?,
            Request::Past { event } => session.past(event)?,
            Request::NumberFrom { api, number } => session.number_from(*api, *number)?,
            _ => return Err(Unable::because("this is no request of a checkpoint")),
        }
        Ok((Reply::Restored, Vec::new()))
    }

    /// Receives an object's bytes; they count as a region while they are here.
    fn contents(&mut self, len: u64) -> Result<Result<Vec<u8>, Unable>, SessionError> {
        let dir = Direction::In;
        let mut bytes = Vec::new();
        let room = self.budget.check(&[RegionDesc { len, dir }]);
        let room = room.map_err(Unable::because).and_then(|()| {
            let reserved = OutOfMemory::reserve(&mut bytes, len as usize);
            reserved.map_err(Unable::because)
        });
        match room {
            Ok(()) => self.connection.fill(&mut bytes, len as usize)?,
            Err(_) => self.connection.skip(len)?,
        }
        Ok(room.map(|()| bytes))
    }
}
