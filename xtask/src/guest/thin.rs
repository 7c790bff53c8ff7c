//! The thin libraries: what programs and loaders open.
//!
//! Each exports the names of an API, or of several, and is a jump for each, through its global
//! offset table, to the function in the library that all share. It costs a call
//! two or three instructions and touches no register that holds an argument.
//!
//! An indirect function (`STT_GNU_IFUNC`) would cost none. But musl has none,
//! its resolver may run before the shared library is relocated, and what
//! debuggers and `gil run --watch` find under its name is the resolver.

use super::{GuestError, Machine, io, start};
use crate::r#gen;
use crate::spec::Api;
use gil_guest_names::{Library, PREFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Links the thin libraries with the shared one, beside it; returns the files.
///
/// # Errors
/// [`GuestError`].
pub fn build(
    root: &Path,
    shared: &Path,
    libraries: &'static [Library],
    machine: &Machine,
) -> Result<Vec<PathBuf>, GuestError> {
    let apis = r#gen::descriptions(root)?;
    let thin = |library: &'static Library| {
        let mut exported = Vec::new();
        for name in library.apis {
            let described = apis.iter().find(|(api, _)| api.name == *name);
            let (api, _) = described.ok_or(GuestError::NoApi(name))?;
            exported.extend(names(api, library.of_version));
        }
        exported.extend(library.also);
        let thin = Thin {
            machine,
            library,
            names: exported,
        };
        thin.build(shared)
    };
    let libraries = libraries.iter();
    libraries
        .filter(|library| library.is_for(machine.bits))
        .map(thin)
        .collect()
}

/// What an API's library exports, of one version or of all.
fn names<'a>(api: &'a Api, version: Option<&str>) -> Vec<&'a str> {
    let exported = api.calls.iter().filter(|call| call.is_exported());
    let exported = exported.filter(|call| version.is_none_or(|version| call.is_in(version)));
    exported.map(|call| call.name.as_str()).collect()
}

struct Thin<'a> {
    machine: &'a Machine,
    library: &'static Library,
    names: Vec<&'a str>,
}

impl Thin<'_> {
    /// Links it unless what it is made of is as it was.
    fn build(&self, shared: &Path) -> Result<PathBuf, GuestError> {
        let folder = shared.parent().unwrap_or(shared);
        let out = folder.join(self.library.file);
        let source = folder.join(format!("{}.s", self.library.file));
        let text = format!("/* {} */\n{}", self.version_script(), self.assembly());
        if out.exists() && fs::read_to_string(&source).is_ok_and(|found| found == text) {
            return Ok(out);
        }
        // Runs of gil may build side by side: all is made beside, then put in
        // place at once.
        let work = tempfile::tempdir_in(folder).map_err(io(folder))?;
        let at = |name: &str| work.path().join(name);
        fs::write(at(SOURCE), &text).map_err(io(folder))?;
        fs::write(at(SCRIPT), self.version_script()).map_err(io(folder))?;
        self.link(shared, work.path())?;
        fs::rename(at(self.library.file), &out).map_err(io(&out))?;
        fs::rename(at(SOURCE), &source).map_err(io(&source))?;
        Ok(out)
    }

    /// A line for each name, behind the macro that makes the jump.
    fn assembly(&self) -> String {
        let Machine { syntax, jump, .. } = self.machine;
        let entries: String = self
            .names
            .iter()
            .map(|name| format!("\tentry {name}, {PREFIX}{name}\n"))
            .collect();
        format!(
            "{syntax}\t.text\n\
             \t.macro entry name, target\n\
             \t.p2align 4\n\
             \t.globl \\name\n\
             \t.type \\name, %function\n\
             \\name:\n{jump}\
             \t.size \\name, . - \\name\n\
             \t.endm\n\
             {entries}\
             \t.section .note.GNU-stack, \"\", %progbits\n"
        )
    }

    /// What it exports, and nothing that the linker adds.
    fn version_script(&self) -> String {
        let node = self.library.version.unwrap_or_default();
        format!("{node} {{ global: {}; local: *; }};", self.names.join("; "))
    }

    /// Links it in the folder `work`; a name that the shared library lacks is an
    /// error.
    fn link(&self, shared: &Path, work: &Path) -> Result<(), GuestError> {
        let compiler = self.machine.compiler;
        let mut command = Command::new(compiler);
        command
            .args(["-nostdlib", "-shared", "-s", "-o", self.library.file])
            .arg(format!("-Wl,-soname,{}", self.library.file))
            .arg(format!("-Wl,--version-script,{SCRIPT}"))
            .args(["-Wl,-z,defs", "-Wl,-z,relro", SOURCE])
            .arg(shared)
            .current_dir(work);
        let status = command.status().map_err(|error| start(compiler, error))?;
        match status.success() {
            true => Ok(()),
            false => Err(GuestError::Build(self.library.file)),
        }
    }
}

const SOURCE: &str = "entries.s";
const SCRIPT: &str = "exports.map";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::ARM64;

    #[test]
    fn symbols_have_the_version_that_the_table_gives() {
        let library: &'static Library = Box::leak(Box::new(Library {
            version: Some("API_1"),
            ..gil_guest_names::OPENCL
        }));
        let thin = Thin {
            machine: &ARM64,
            library,
            names: vec!["one", "two"],
        };
        let script = thin.version_script();
        assert_eq!(script, "API_1 { global: one; two; local: *; };");
    }
}
