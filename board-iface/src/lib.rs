//! gil's board agent: runs forwarded GPU calls on a real device.
