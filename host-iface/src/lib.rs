//! gil's host interface: detection, guest memory, sessions, board client, trace; with a C ABI for simulators.
