//! The toy API's guest library: [`generated`] holds one stub an entry point;
//! [`support`] what they stand on.

pub mod generated;
pub mod support;
