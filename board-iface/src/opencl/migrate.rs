//! Migrations of memory objects.
//!
//! PoCL orders one to the host behind the last command on each object, whatever
//! its queue and its wait list. If that command is blocked, the migration waits
//! for what the guest has yet to cause; if it failed, for ever. The guest sees
//! nothing of where the board has an object: where a command may be one of
//! these, objects stay on the device.

use super::generated::types::cl_mem_migration_flags;
use super::operations::Operations;
use super::refusal::Refusal;
use super::support::{decode, encode};
use gil_wire::Op;
use gil_wire::generated::opencl as wire;

/// `CL_MIGRATE_MEM_OBJECT_HOST`.
const TO_HOST: cl_mem_migration_flags = 1;

/// The arguments of a migration that stays on the device; `None`: the guest's
/// will do.
///
/// # Errors
/// [`Refusal`] if they do not decode.
pub fn on_the_device(
    operations: &Operations,
    op: Op,
    args: &[u8],
) -> Result<Option<Vec<u8>>, Refusal> {
    let none_is = !operations.has_blocked() && !operations.has_failed();
    if op != wire::CL_ENQUEUE_MIGRATE_MEM_OBJECTS || none_is {
        return Ok(None);
    }
    let mut args: wire::ClEnqueueMigrateMemObjectsArgs = decode(args)?;
    args.flags &= !TO_HOST;
    encode(&args).map(Some)
}
