//! The interpreters of local scripts, and Debian's packages that have them.

use crate::program::{Local, ProgramError};
use crate::tree::Tree;

/// Interpreters by name, and the packages that have them in `/usr/bin`; those of
/// every guest, such as `sh`, are not among them.
const PACKAGES: [(&str, &str); 17] = [
    ("bash", "bash"),
    ("dash", "dash"),
    ("fish", "fish"),
    ("gawk", "gawk"),
    ("guile", "guile-3.0"),
    ("ksh", "ksh"),
    ("lua", "lua5.4"),
    ("node", "nodejs"),
    ("perl", "perl"),
    ("php", "php-cli"),
    ("python", "python-is-python3"),
    ("python3", "python3"),
    ("Rscript", "r-base-core"),
    ("ruby", "ruby"),
    ("tclsh", "tcl"),
    ("zsh", "zsh"),
    ("make", "make"),
];

/// So many bytes of a script the kernel looks at: `BINPRM_BUF_SIZE`, less its last.
const LINE_MAX: usize = 255;

/// A script's first line, as the kernel sees it, without `#!`.
fn first_line(local: &Local) -> Option<&[u8]> {
    let script = local.elf.is_none().then_some(&local.bytes)?;
    let seen = &script[..script.len().min(LINE_MAX)];
    let ends = |byte: &u8| *byte == b'\n' || *byte == 0;
    seen.strip_prefix(b"#!")?.split(ends).next()
}

/// Whether the name of the interpreter would have a carriage return at its end.
fn has_carriage_return(local: &Local) -> bool {
    let line = first_line(local).and_then(|line| line.strip_suffix(b"\r"));
    let words: Vec<_> = line.map_or(Vec::new(), |line| {
        let words = line.split(u8::is_ascii_whitespace);
        words.filter(|word| !word.is_empty()).collect()
    });
    match words.as_slice() {
        [_] => true,
        [program, _] => program.ends_with(b"/env"),
        _ => false,
    }
}

/// What a script's first line names: a path, or after `env` a name that is
/// looked for among the guest's programs.
fn of(local: &Local) -> Option<String> {
    let line = String::from_utf8_lossy(first_line(local)?);
    let mut words = line.split_whitespace();
    let program = words.next()?;
    let is_env = program.rsplit('/').next() == Some("env");
    // Options, and variables that it sets, come before the name.
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match named.filter(|_| is_env) {
        Some(name) => Some(name.into()),
        None => Some(program.into()),
    }
}

/// The package to add so that the guest has a script's interpreter; none if it
/// has it, no package is known, or there is no script.
pub fn package(local: &Local, tree: &Tree) -> Option<&'static str> {
    let interpreter = of(local).filter(|found| !has(tree, found))?;
    let folders = ["/usr/bin/", "/bin/"];
    let name = folders.iter().find_map(|at| interpreter.strip_prefix(at));
    let name = name.unwrap_or(&interpreter);
    let found = PACKAGES.iter().find(|(known, _)| *known == name);
    found.map(|(_, package)| *package)
}

/// Looks whether the guest has a script's interpreter, among its packages' files
/// or those that are added.
///
/// # Errors
/// [`ProgramError::NoInterpreter`] if not, [`ProgramError::CarriageReturn`] if the kernel
/// would look for another one.
pub fn check<'a>(
    local: &Local,
    tree: &Tree,
    mut added: impl Iterator<Item = &'a str>,
) -> Result<(), ProgramError> {
    if has_carriage_return(local) {
        let script = local.path.display().to_string();
        return Err(ProgramError::CarriageReturn { script });
    }
    match of(local).filter(|found| !has(tree, found)) {
        Some(found) if !added.any(|name| is_named(name, &found)) => Err(lacks(local, found)),
        _ => Ok(()),
    }
}

/// Whether a file of this name, from the guest's root, is what a script asks for.
fn is_named(name: &str, interpreter: &str) -> bool {
    match interpreter.strip_prefix('/') {
        Some(path) => name == crate::tree::normal(path),
        None => name.rsplit('/').next() == Some(interpreter),
    }
}

fn has(tree: &Tree, interpreter: &str) -> bool {
    match interpreter.contains('/') {
        true => tree.file(interpreter).is_some(),
        false => tree.program(interpreter).is_some(),
    }
}

fn lacks(local: &Local, interpreter: String) -> ProgramError {
    ProgramError::NoInterpreter {
        script: local.path.display().to_string(),
        interpreter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::LOCAL_FOLDER;
    use crate::tree::Entry;

    fn script(line: &str) -> Local {
        Local {
            path: "s".into(),
            bytes: format!("{line}\necho\n").into_bytes(),
            elf: None,
            folder: LOCAL_FOLDER.into(),
        }
    }

    #[test]
    fn the_first_line_names_the_interpreter() {
        for (line, interpreter) in [
            ("#!/bin/sh", "/bin/sh"),
            ("#! /usr/bin/perl -w", "/usr/bin/perl"),
            ("#!/usr/bin/env python3", "python3"),
            ("#!/usr/bin/env -S A=1 python3 -u", "python3"),
            ("#!/usr/bin/env", "/usr/bin/env"),
        ] {
            let found = of(&script(line));
            assert_eq!(found.as_deref(), Some(interpreter), "{line}");
        }
        assert_eq!(of(&script("#!")), None);
    }

    #[test]
    fn what_the_guest_lacks_comes_from_its_package_or_is_named() {
        let mut tree = Tree::default();
        tree.insert("usr/bin/perl", Entry::File { executable: true });
        for (line, wanted) in [
            ("#!/usr/bin/perl", None),
            ("#!/bin/perl", None),
            ("#!/usr/bin/env perl", None),
            ("#!/bin/bash", Some("bash")),
            ("#!/usr/bin/env -S python3 -u", Some("python3")),
            ("#!/usr/local/bin/perl", None),
            ("#!/usr/bin/env no-such", None),
        ] {
            assert_eq!(package(&script(line), &tree), wanted, "{line}");
        }
        for line in ["#!/usr/local/bin/perl", "#!/usr/bin/env no-such"] {
            let error = check(&script(line), &tree, [].into_iter()).unwrap_err();
            assert_eq!(error.code(), 126, "{error}");
            let interpreter = of(&script(line)).unwrap();
            assert!(error.to_string().contains(&interpreter), "{error}");
        }
        check(&script("#!/usr/bin/perl"), &tree, [].into_iter()).unwrap();
    }

    #[test]
    fn lines_that_end_as_on_windows_are_refused_where_the_kernel_refuses_them() {
        let mut tree = Tree::default();
        for name in ["usr/bin/perl", "usr/bin/env"] {
            tree.insert(name, Entry::File { executable: true });
        }
        let checked = |line: &str| check(&script(line), &tree, [].into_iter());
        for line in [
            "#!/usr/bin/perl\r",
            "#! /usr/bin/perl\r",
            "#!/usr/bin/env perl\r",
        ] {
            let said = checked(line).unwrap_err().to_string();
            assert!(said.contains("sed -i 's/\\r$//' s"), "{said}");
        }
        for line in ["#!/usr/bin/perl -w\r", "#!/usr/bin/env -S perl -w\r"] {
            checked(line).unwrap();
        }
    }

    #[test]
    fn what_the_kernel_does_not_read_of_a_line_is_no_name() {
        let long = "a".repeat(100_000);
        assert_eq!(of(&script(&format!("#!{long}"))).unwrap().len(), 253);
        assert_eq!(of(&script("#!/bin/sh\0x")).as_deref(), Some("/bin/sh"));
    }

    #[test]
    fn an_added_file_may_be_the_interpreter() {
        let tree = Tree::default();
        let check = |line: &str, added| check(&script(line), &tree, [added].into_iter());
        check("#!/opt/x/run", "opt/x/run").unwrap();
        check("#!/bin/run", "usr/bin/run").unwrap();
        check("#!/usr/bin/env run", "usr/local/bin/run").unwrap();
        assert!(check("#!/opt/x/run", "opt/y/run").is_err());
    }
}
