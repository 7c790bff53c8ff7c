//! Bytes for people.

use std::fmt::Write;

/// Bytes of a line.
const LINE: usize = 16;

/// The lines of a dump: offset, bytes, and what of them is text. Equal lines are all
/// there: what is dumped is bounded.
pub fn dump(bytes: &[u8], indent: &str) -> String {
    let lines = bytes.chunks(LINE).enumerate();
    lines.fold(String::new(), |mut out, (index, line)| {
        let hex: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String = line.iter().map(|&byte| printable(byte)).collect();
        let (at, hex) = (index * LINE, hex.join(" "));
        let _ = writeln!(out, "{indent}{at:08x}  {hex:<47}  {text}");
        out
    })
}

fn printable(byte: u8) -> char {
    match byte {
        b' '..=b'~' => byte.into(),
        _ => '.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_has_offsets_bytes_and_text() {
        let text = dump(b"0123456789abcdef\x00z\x1b", "  ");
        let wanted = "  00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n  00000010  00 7a 1b                                         .z.\n";
        assert_eq!(text, wanted);
    }
}
