//! The project's tasks: gen, ci, dist, guest.

fn main() {}
