//! Migrations of memory objects.
//!
//! PoCL orders one to the host behind the last command on each object, whatever
//! its queue and its wait list. If that command is blocked, the migration waits
//! for what the guest has yet to cause; if it failed, for ever. The guest sees
//! nothing of where the board has an object: where a command may be one of
//! these, objects stay on the device.

use super::generated::types::cl_mem_migration_flags;
use crate::back_end::operations::Operations;

/// `CL_MIGRATE_MEM_OBJECT_HOST`.
const TO_HOST: cl_mem_migration_flags = 1;

/// A migration's flags, which leave objects on the device where they have to
/// stay there.
pub fn flags(operations: &Operations, given: cl_mem_migration_flags) -> cl_mem_migration_flags {
    match operations.has_blocked() || operations.has_failed() {
        true => given & !TO_HOST,
        false => given,
    }
}
