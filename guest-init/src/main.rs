//! The guest's init: loads gil.ko, runs the program, reports its output and exit code.

fn main() {}
