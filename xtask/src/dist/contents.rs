//! Which files a package of the agent has, and where.

use super::debian::{self, About, VERSION, control};
use super::pack::{Packed, deb, tarball};
use super::target::{Glibc, Target};
use std::fs;
use std::io;
use std::path::Path;

/// What differs between packages.
pub struct Sources<'a> {
    /// The machine.
    pub target: &'a Target,
    /// The C library that the agent needs.
    pub glibc: Glibc,
    /// The agent's program.
    pub agent: Vec<u8>,
    /// Licences of what is linked into it.
    pub notices: String,
}

const NAME: &str = "gil-board";
const DESCRIPTION: &str = "runs the GPU calls of a simulated computer
 The board agent of gil: it takes the OpenCL calls of programs that run in a
 simulator on another computer, and runs them on this one's GPU.";
const README: &str = include_str!("files/README");
const COPYRIGHT: &str = include_str!("files/copyright");
const POSTINST: &str = include_str!("files/postinst");
const PRERM: &str = include_str!("files/prerm");
const POSTRM: &str = include_str!("files/postrm");
/// The service, in the sources.
const UNIT: &str = "board-iface/systemd/gil-board.service";
/// The groups that it needs, likewise.
const GROUPS: &str = "board-iface/systemd/gil-board.sysusers";
/// How to set up a board, likewise.
const PAGE: &str = "docs/BOARDS.md";

/// The tarball and the Debian package, each with its file name.
///
/// # Errors
/// A file of the sources that cannot be read.
pub fn pack(root: &Path, sources: &Sources, date: u64) -> io::Result<[(String, Vec<u8>); 2]> {
    let debian = sources.target.debian;
    let stem = format!("{NAME}-{VERSION}-linux-{debian}");
    let files = tarball_files(root, sources)?;
    let data = package_files(root, sources)?;
    Ok([
        (
            format!("{stem}.tar.gz"),
            tarball(&format!("{stem}/"), &files, date)?,
        ),
        (
            format!("{NAME}_{VERSION}_{debian}.deb"),
            deb(&control_files(sources, &data), &data, date)?,
        ),
    ])
}

fn tarball_files(root: &Path, sources: &Sources) -> io::Result<Vec<Packed>> {
    let readme = README
        .replace("@BOARDS@", sources.target.machines)
        .replace("@GLIBC@", &sources.glibc.to_string());
    Ok(vec![
        Packed::program("gil-board", sources.agent.clone()),
        Packed::text("gil-board.service", fs::read(root.join(UNIT))?),
        Packed::text("gil-board.sysusers", fs::read(root.join(GROUPS))?),
        Packed::text("LICENSE-APACHE", fs::read(root.join("LICENSE-APACHE"))?),
        Packed::text("LICENSE-MIT", fs::read(root.join("LICENSE-MIT"))?),
        Packed::text("LICENSES-OF-CRATES", sources.notices.clone()),
        Packed::text("README", readme),
        Packed::text("BOARDS.md", fs::read(root.join(PAGE))?),
    ])
}

fn package_files(root: &Path, sources: &Sources) -> io::Result<Vec<Packed>> {
    let doc = |name: &str| format!("usr/share/doc/{NAME}/{name}");
    let mit = fs::read_to_string(root.join("LICENSE-MIT"))?;
    let copyright = COPYRIGHT.replace("@MIT@", &debian::field(&mit));
    Ok(vec![
        Packed::program("usr/bin/gil-board", sources.agent.clone()),
        Packed::text(
            "lib/systemd/system/gil-board.service",
            fs::read(root.join(UNIT))?,
        ),
        Packed::text(
            "usr/lib/sysusers.d/gil-board.conf",
            fs::read(root.join(GROUPS))?,
        ),
        Packed::text(doc("copyright"), copyright),
        Packed::text(doc("LICENSES-OF-CRATES"), sources.notices.clone()),
        Packed::text(doc("BOARDS.md"), fs::read(root.join(PAGE))?),
    ])
}

fn control_files(sources: &Sources, data: &[Packed]) -> Vec<Packed> {
    let about = About {
        name: NAME,
        target: sources.target,
        relations: format!(
            "Depends: libc6 (>= {}), libgcc-s1\n\
             Recommends: ocl-icd-libopencl1 | libopencl1, libegl1, libgles1, libgles2",
            sources.glibc
        ),
        description: DESCRIPTION,
    };
    vec![
        control(&about, data),
        Packed::program("postinst", POSTINST),
        Packed::program("prerm", PRERM),
        Packed::program("postrm", POSTRM),
    ]
}
