//! The texts of Debian packages.

use super::pack::Packed;
use super::target::Target;

/// The version of all packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a package says of itself.
pub struct About<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is built for.
    pub target: &'a Target,
    /// Its fields on other packages, a line each.
    pub relations: String,
    /// One line, and indented ones below it.
    pub description: &'a str,
}

/// The file `control` of a package with these files.
pub fn control(about: &About, data: &[Packed]) -> Packed {
    let kib = data.iter().map(|file| file.bytes.len().div_ceil(1024));
    let kib: usize = kib.sum();
    let text = format!(
        "Package: {}\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: gil\n\
         Installed-Size: {kib}\n\
         {}\n\
         Section: utils\n\
         Priority: optional\n\
         Description: {}\n",
        about.name, about.target.debian, about.relations, about.description,
    );
    Packed::text("control", text)
}

/// As a field's value in Debian's files: indented, empty lines as dots.
pub fn field(text: &str) -> String {
    let lines = text.trim_end().lines().map(|line| match line.trim_end() {
        "" => " .\n".into(),
        line => format!(" {line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_fields_are_indented_and_have_no_empty_line() {
        assert_eq!(field("a\n\n  b\n"), " a\n .\n   b\n");
    }
}
