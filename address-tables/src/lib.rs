//! Which guest memory is shared, where it lies, and what of it is outstanding.
