//! Every file of the corpus goes once through its target, without a fuzzer.

use gil_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(fuzz().join(folder)).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| stem(entry.unwrap().path())).collect()
}

#[test]
fn every_target_has_a_corpus_and_a_file() {
    let expected: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).into()).collect();
    assert_eq!(names("targets"), expected);
    assert_eq!(names("corpus"), expected);
}

#[test]
fn every_file_of_the_corpus_is_survived() {
    for (name, body) in TARGETS {
        for entry in std::fs::read_dir(fuzz().join("corpus").join(name)).unwrap() {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            body(&std::fs::read(&path).unwrap());
        }
        body(&[]);
    }
    if let Err(reason) = gil_fuzz::board::device() {
        gil_need::skip("an OpenCL device", reason);
    }
    gil_fuzz::cuda::device().expect("the driver of tests/null-cuda");
}
