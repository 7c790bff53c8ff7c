//! gil, the command: run programs in a simulated ARM system with a real GPU in the loop.

fn main() {}
