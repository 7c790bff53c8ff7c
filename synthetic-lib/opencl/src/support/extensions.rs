//! The board's extensions that programs see. An extension is hidden if its functions
//! do not cross the bridge.

use gil_wire::generated::opencl::Kind;

/// The extensions that work across the bridge.
static WORKING: &str = include_str!("extensions.txt");

/// This library's own: the loader finds it by that.
const ICD: &str = "cl_khr_icd";
const ICD_VERSION: u32 = 1 << 22;

/// `cl_name_version`: a version and a name that ends with a NUL.
const NAME_VERSION: usize = 68;
const VERSION: usize = 4;

fn works(name: &str) -> bool {
    let mut lines = WORKING.lines().filter(|line| !line.starts_with('#'));
    !name.is_empty() && lines.any(|line| line == name)
}

/// The extension string of a platform or device: of the board's (`all`, with
/// its NUL) what works, with the board's own spaces.
pub fn shown(kind: Kind, all: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(all);
    let text = text.trim_end_matches('\0');
    let mut shown: String = text
        .split_inclusive(' ')
        .filter(|piece| piece.trim().is_empty() || works(piece.trim()))
        .collect();
    shown.truncate(shown.trim_end().len());
    let has_icd = shown.split(' ').any(|name| name == ICD);
    if kind == Kind::Platform && !has_icd {
        let space = if shown.is_empty() { "" } else { " " };
        shown.extend([space, ICD]);
    }
    shown.push('\0');
    shown.into_bytes()
}

/// The same for an array of `cl_name_version`.
pub fn shown_versions(kind: Kind, all: &[u8]) -> Vec<u8> {
    let entries = all.chunks_exact(NAME_VERSION);
    let mut shown: Vec<u8> = Vec::new();
    let mut has_icd = false;
    for entry in entries.filter(|entry| works(&name_of(entry))) {
        has_icd |= name_of(entry) == ICD;
        shown.extend_from_slice(entry);
    }
    if kind == Kind::Platform && !has_icd {
        shown.extend_from_slice(&ICD_VERSION.to_ne_bytes());
        shown.extend_from_slice(ICD.as_bytes());
        shown.resize(shown.len().next_multiple_of(NAME_VERSION), 0);
    }
    shown
}

fn name_of(entry: &[u8]) -> String {
    let name = entry[VERSION..].split(|b| *b == 0).next();
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_works_is_shown_in_the_boards_order() {
        let all = b"cl_khr_fp64 cl_khr_gl_sharing  cl_khr_icd cl_khr_fp16 \0";
        assert_eq!(
            shown(Kind::Platform, all),
            b"cl_khr_fp64  cl_khr_icd cl_khr_fp16\0"
        );
        assert_eq!(shown(Kind::Device, b"cl_khr_gl_sharing\0"), b"\0");
        assert_eq!(shown(Kind::Platform, b"\0"), b"cl_khr_icd\0");
        assert_eq!(shown(Kind::Platform, b""), b"cl_khr_icd\0");
    }

    fn entry(version: u32, name: &str) -> Vec<u8> {
        let mut bytes = version.to_ne_bytes().to_vec();
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(NAME_VERSION, 0);
        bytes
    }

    #[test]
    fn versions_are_filtered_alike() {
        let all = [entry(9, "cl_khr_fp64"), entry(9, "cl_khr_gl_sharing")].concat();
        let fp64 = entry(9, "cl_khr_fp64");
        assert_eq!(shown_versions(Kind::Device, &all), fp64);
        let with_icd = [fp64, entry(ICD_VERSION, ICD)].concat();
        assert_eq!(shown_versions(Kind::Platform, &all), with_icd);
        assert_eq!(shown_versions(Kind::Platform, &with_icd), with_icd);
    }
}
