//! The compiler options that a program may give. A driver's compiler is a general
//! one, with options that read, write and execute files. Only options that are known
//! to name no file are allowed. To allow another option of a vendor, add a line.

use super::words;

/// As they are.
const WHOLE: [&str; 11] = [
    "-w",
    "-g",
    "-create-library",
    "-enable-link-options",
    "-O",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Ofast",
];
/// With something behind them that names no file.
const BEGINNINGS: [&str; 9] = [
    "-cl-",
    "-spir-std=",
    "-std=",
    "-W",
    "-ze-",
    "-qcom-",
    "-fbin-",
    "-fno-bin-",
    "-ffp-contract=",
];
/// Behind `-f` and `-fno-`.
const FLAGS: [&str; 32] = [
    "associative-math",
    "builtin",
    "color-diagnostics",
    "common",
    "denormals-are-zero",
    "diagnostics-color",
    "diagnostics-show-option",
    "exceptions",
    "fast-math",
    "finite-math-only",
    "honor-infinities",
    "honor-nans",
    "inline",
    "inline-functions",
    "jump-tables",
    "math-errno",
    "omit-frame-pointer",
    "reciprocal-math",
    "rounding-math",
    "short-enums",
    "signed-char",
    "signed-zeros",
    "slp-vectorize",
    "stack-protector",
    "strict-aliasing",
    "strict-overflow",
    "trapping-math",
    "unroll-loops",
    "unsafe-math-optimizations",
    "unsigned-char",
    "vectorize",
    "wrapv",
];
/// Behind `-x`.
const LANGUAGES: [&str; 4] = ["spir", "clc", "cl", "CL"];

/// The first word of build options that may not reach a compiler.
pub fn refused(options: &str) -> Option<String> {
    let words = words(options);
    let mut words = words.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        let is_allowed = match word {
            "-D" | "-U" | "-I" => words.next().is_none_or(is_argument),
            "-x" => words.next().is_some_and(|name| LANGUAGES.contains(&name)),
            _ => is_option(word),
        };
        if !is_allowed || hides_options(word) {
            return Some(word.into());
        }
    }
    None
}

/// What a compiler might take for the next option instead.
fn is_argument(word: &str) -> bool {
    !word.starts_with(['-', '@']) && !hides_options(word)
}

fn is_option(word: &str) -> bool {
    let begins = |front: &&str| word.strip_prefix(*front).is_some_and(is_plain);
    let has_argument = |front| {
        let argument = word.strip_prefix(front);
        argument.is_some_and(|argument| !argument.is_empty())
    };
    let flag = word.strip_prefix("-f");
    let flag = flag.map(|flag| flag.strip_prefix("no-").unwrap_or(flag));
    WHOLE.contains(&word)
        || BEGINNINGS.iter().any(begins)
        || flag.is_some_and(|flag| FLAGS.contains(&flag))
        || ["-D", "-U", "-I"].into_iter().any(has_argument)
}

/// No folder, and no list of options for another program (`-Wp,`).
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.+:".contains(c);
    text.chars().all(is_plain)
}

/// Whether a word that quotes keep together is an option or a file to a driver
/// that cuts options at each space (PoCL 3.1).
fn hides_options(word: &str) -> bool {
    let mut parts = word.split(char::is_whitespace).skip(1);
    parts.any(|part| {
        let part = part.trim_start_matches(['"', '\'', '\\']);
        let rest = part.strip_prefix(['-', '/']);
        let is_sign = rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphabetic() || "-/.~_".contains(c))
        });
        part.starts_with(['-', '/', '@', '~']) && !is_sign || part.contains("../")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_file_of_the_compilers_is_refused() {
        for options in [
            "-include /etc/passwd",
            "-include/etc/passwd",
            "-imacros x",
            "-isystem /usr/include",
            "-iquote/",
            "-idirafter x",
            "-isysroot /",
            "-include-pch x",
            "--sysroot=/",
            "-B/usr/bin",
            "@/etc/passwd",
            "-o /tmp/x",
            "-MD -MF /tmp/x",
            "-Xclang -load -Xclang /tmp/x.so",
            "-Xpreprocessor -include",
            "-Wp,-include,/etc/passwd",
            "-Wl,-T,/etc/passwd",
            "-fmodules",
            "-fmodule-map-file=/x",
            "-fplugin=/x.so",
            "-fpass-plugin=/x.so",
            "-fprofile-use=/x",
            "-fsave-optimization-record",
            "-ivfsoverlay x",
            "-mllvm -x",
            "-save-temps",
            "-save-temps=cwd",
            "-g -s /etc/passwd",
            "-x c /etc/passwd",
            "-v",
            "-E",
            "--config=/x",
            "-working-directory /",
            "-cl-std=/etc/passwd",
            "/etc/passwd",
            "x.cl",
            // As a driver may read what stands behind.
            "-D -include",
            "-I @/etc/passwd",
            "-D \"A -include /etc/passwd\"",
            "-D 'A -I/etc'",
            "\"-DA /etc/passwd\"",
            "-DA\\ @/etc/passwd",
            "-DA=\"b '-include'\"",
            "-DA=\"b ../../etc/passwd\"",
        ] {
            assert!(refused(options).is_some(), "{options}");
        }
    }

    #[test]
    fn what_programs_give_is_let_through() {
        for options in [
            "",
            "-w -Werror -Wall -Wno-unused-variable",
            "-cl-std=CL2.0 -cl-mad-enable -cl-fast-relaxed-math -cl-kernel-arg-info",
            "-cl-nv-maxrregcount=32 -cl-nv-verbose -cl-nv-opt-level=3",
            "-cl-ext=+cl_khr_fp64",
            "-DA -D B=1 -DC=\"a b\" -D'E=(x - 1)' -U X -UY",
            "-D \"F=1 -2 / 3 - 4\" -D INCLUDE_PATH=/usr/share/x",
            "-I inc -I/usr/share/x -I \"other dir\" -I .",
            "-O3 -g -ffast-math -fno-unroll-loops -ffp-contract=fast",
            "-x spir -spir-std=1.2",
            "-create-library -enable-link-options",
            "-fno-bin-source -fbin-exe",
        ] {
            assert_eq!(refused(options), None, "{options}");
        }
    }
}
