//! What several commands' options say of the guest.

use clap::builder::PossibleValuesParser;
use gil_drivers::TableError;
use gil_guest_image::gpu::{Gpu, Model};
use gil_guest_image::platforms::Platforms;

/// What `--pkg` takes.
///
/// # Errors
/// A sentence if it is no name of a package.
pub fn package(text: &str) -> Result<String, String> {
    let mut names = text.split_whitespace();
    match (names.next(), names.next()) {
        (Some(name), None) if name == text && is_package(name) => Ok(text.into()),
        (Some(name), None) if name == text => {
            Err("write the name of a Debian package, such as clinfo or clinfo:armhf; apt's other ways to name packages and files are not taken".into())
        }
        (None, _) => Err("give the name of a Debian package".into()),
        _ => Err("each package takes a --pkg of its own, such as --pkg a --pkg b".into()),
    }
}

/// `NAME`, `NAME:ARCH`, or one of these with `=VERSION`: apt takes patterns, tasks, files
/// and packages to remove, too.
fn is_package(text: &str) -> bool {
    let consists = |text: &str, more: &str| {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        !text.is_empty() && text.chars().all(is_fit)
    };
    let (package, version) = text.split_once('=').unwrap_or((text, "1"));
    let (name, arch) = package.split_once(':').unwrap_or((package, "x"));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && !name.ends_with('-');
    is_name && consists(name, "+-.") && consists(arch, "-") && consists(version, ".+:~-")
}

/// What `--gpu` takes.
pub fn gpus() -> PossibleValuesParser {
    PossibleValuesParser::new(Model::ALL.map(Model::name).into_iter().chain(["none"]))
}

/// A program's environment beside a driver of the kernel: Mesa looks for a display first,
/// without it.
pub const NO_DISPLAY: &str = "EGL_PLATFORM=surfaceless";

/// Where a guest with such a GPU, or none, has the APIs' platforms from.
pub fn platforms(gpu: Option<&Gpu>, with_packages: bool) -> Platforms {
    match gpu {
        Some(_) if !with_packages => Platforms::Driver,
        _ => Platforms::with_packages(with_packages),
    }
}

/// What `--driver` takes.
///
/// # Errors
/// [`TableError`] if no table describes it.
pub fn driver(name: &str) -> Result<String, TableError> {
    gil_drivers::table(name).map(|table| table.driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_debians_names() {
        for fits in [
            "clinfo",
            "g++",
            "libstdc++6:armhf",
            "0ad",
            "bash=1:5.2~rc1-2+b1",
            "python3.11",
        ] {
            assert_eq!(package(fits).as_deref(), Ok(fits));
        }
        for wrong in [
            "",
            " ",
            "a b",
            "-o",
            "../x",
            "./x.deb",
            "/x.deb",
            "x*",
            "^b.*",
            "task^",
            "bash-",
            "bash/sid",
            "?name(x)",
            "~nx",
            "a;b",
            "a\nb",
            "a=",
            "a:",
            "a\u{1b}[m",
        ] {
            assert!(package(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_package_takes_its_own_option() {
        assert_eq!(package("clinfo:armhf").unwrap(), "clinfo:armhf");
        assert!(
            package("clinfo hashcat")
                .unwrap_err()
                .contains("--pkg a --pkg b")
        );
        for wrong in ["", " ", "\t"] {
            assert!(package(wrong).unwrap_err().contains("give the name"));
        }
    }
}
