//! What a session remembers of its calls for a checkpoint.

use super::Session;
use super::calls::Call;
use super::log::Kept;
use crate::memory::{GuestMemory, read_region};
use gil_wire::api::effect;
use gil_wire::envelope::Class;

impl Session {
    /// What is kept of a call if it leaves anything on the board: read before
    /// it is sent, for the program may write over it then.
    pub(super) fn kept(&self, memory: &dyn GuestMemory, call: &Call<'_>) -> Option<Kept> {
        let envelope = call.envelope;
        let is_answered = call.is_answered && envelope.class == Class::Sync;
        let is_post = !call.is_answered && envelope.class == Class::Post;
        self.links
            .of(envelope.op)
            .log
            .as_ref()
            .filter(|log| log.is_whole())?;
        let contents = match (is_answered, is_post) {
            (false, true) => effect(envelope.op, envelope.args, None)?.contents,
            (true, false) => effect(envelope.op, envelope.args, None).and_then(|e| e.contents),
            _ => return None,
        };
        let regions = call.regions.iter().enumerate();
        let ins = regions.filter(|(_, region)| region.dir.is_in());
        let own = ins.filter(|(index, _)| contents != u32::try_from(*index).ok());
        let bytes = own.map(|(_, region)| {
            let mut bytes = read_region(memory, &region.extents).ok()?;
            self.delivery.held.overlay(&region.extents, &mut bytes);
            Some(bytes)
        });
        Some(Kept::new(&call.message(), bytes.collect::<Option<_>>()?))
    }
}
