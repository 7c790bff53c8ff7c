//! gil for QEMU: a TCG plugin over gil-host.
