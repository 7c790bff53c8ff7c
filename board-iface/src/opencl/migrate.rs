//! Migrations of memory objects.
//!
//! PoCL orders a migration to the host behind the last command on each object, whatever
//! its queue and wait list. If that command is blocked, the migration waits for the
//! guest; if it failed, for ever. The guest cannot see where the board stores an object,
//! so objects stay on the device if there may be such a command.

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
