//! gil in a real gem5: the points of `tests/gem5/run`, where there is one.

use gil_tests::root;
use std::process::Command;

#[test]
fn every_point_holds_in_a_real_gem5() {
    let Some(gem5) = std::env::var_os("GIL_GEM5") else {
        eprintln!("skipped: set GIL_GEM5 to a gem5.opt built with EXTRAS=gem5-patches");
        return;
    };
    let points = root().join("tests/gem5/run");
    let status = Command::new(&points).arg(gem5).status();
    let status = status.expect("tests/gem5/run starts");
    assert!(status.success(), "see its table");
}
