//! What gil's guest libraries share: the device, submissions, waits, handles, fork.
