//! The project's tasks: gen, ci, guest.
fn main() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap();
    match xtask::r#gen::write(root) {
        Ok(files) => println!("{files:?}"),
        Err(e) => println!("{e}"),
    }
}
