//! The links that packages create with `update-alternatives` when they are installed
//! (update-alternatives(1)). Their scripts are not executed; commands without variables
//! are parsed.

use crate::apt::AptError;
use gil_run_support::cache::At;
use gil_run_support::tool;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the intermediate links.
const FOLDER: &str = "etc/alternatives";

/// A link, its name in [`FOLDER`], and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    link: String,
    name: String,
    path: String,
}

/// One `--install`, with its `--slave`s.
#[derive(Debug, PartialEq, Eq)]
struct Alternative {
    priority: i64,
    links: Vec<Link>,
}

/// Makes the links of these package files, which are unpacked in `root`: of
/// several alternatives that with the highest priority.
///
/// # Errors
/// [`AptError`] if a package cannot be read or a link not be written.
pub fn link(files: &[PathBuf], root: &Path) -> Result<(), AptError> {
    let mut best: BTreeMap<String, Alternative> = BTreeMap::new();
    for file in files {
        for found in alternatives(&script(file, root)?) {
            if !root.join(inside(&found.links[0].path)).exists() {
                continue;
            }
            let name = &found.links[0].name;
            if best.get(name).is_none_or(|b| b.priority < found.priority) {
                best.insert(name.clone(), found);
            }
        }
    }
    for link in best.values().flat_map(|alternative| &alternative.links) {
        make(link, root)?;
    }
    Ok(())
}

/// What a package runs once it is unpacked; empty if nothing.
fn script(file: &Path, root: &Path) -> Result<String, AptError> {
    let control = tempfile::tempdir_in(root.parent().unwrap_or(root)).at(root)?;
    let mut command = Command::new("dpkg-deb");
    command.arg("--control").arg(file).arg(control.path());
    tool::run(&mut command, "reading a package", root)?;
    let script = fs::read(control.path().join("postinst")).unwrap_or_default();
    Ok(String::from_utf8_lossy(&script).into_owned())
}

fn make(link: &Link, root: &Path) -> Result<(), AptError> {
    let (at, middle) = (
        root.join(inside(&link.link)),
        root.join(FOLDER).join(&link.name),
    );
    let leads = root.join(inside(&link.path)).exists();
    if !leads || at.symlink_metadata().is_ok() || middle.symlink_metadata().is_ok() {
        return Ok(());
    }
    for (at, target) in [
        (&middle, link.path.clone()),
        (&at, format!("/{FOLDER}/{}", link.name)),
    ] {
        let folder = at.parent().unwrap_or(root);
        fs::create_dir_all(folder).at(folder)?;
        symlink(target, at).at(at)?;
    }
    Ok(())
}

/// An absolute path as one inside a folder.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// The alternatives that a script installs, as far as it spells them out.
fn alternatives(script: &str) -> Vec<Alternative> {
    let lines = script.replace("\\\n", " ");
    lines.lines().filter_map(alternative).collect()
}

fn alternative(line: &str) -> Option<Alternative> {
    let (_, call) = line.split_once("update-alternatives")?;
    let words: Vec<&str> = call.split_whitespace().collect();
    let install = words.iter().position(|word| *word == "--install")?;
    let priority = words.get(install + 4)?.parse().ok()?;
    let mut links = vec![link_of(&words[install + 1..])?];
    for (at, _) in words.iter().enumerate().filter(|(_, w)| **w == "--slave") {
        links.extend(link_of(&words[at + 1..]));
    }
    Some(Alternative { priority, links })
}

/// Nothing with a shell's variables, and nothing that leads elsewhere.
fn link_of(words: &[&str]) -> Option<Link> {
    let [link, name, path] = words.first_chunk()?;
    let is_path = |text: &str| {
        let mut parts = text.split('/');
        parts.next() == Some("") && parts.all(is_plain)
    };
    (is_path(link) && is_plain(name) && is_path(path)).then(|| Link {
        link: (*link).to_owned(),
        name: (*name).to_owned(),
        path: (*path).to_owned(),
    })
}

fn is_plain(part: &str) -> bool {
    let usual = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    !matches!(part, "" | "." | "..") && part.chars().all(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link_to(link: &str, name: &str, path: &str) -> Link {
        let [link, name, path] = [link, name, path].map(str::to_owned);
        Link { link, name, path }
    }

    #[test]
    fn scripts_that_spell_them_out_are_read() {
        let script = "#!/bin/sh\nset -e\n\nupdate-alternatives --quiet --install /usr/lib/libx.so.3 \\\n\
             \tlibx.so.3 /usr/lib/x/libx.so.3 10 \\\n  --slave /usr/share/x.1.gz x.1.gz /usr/share/y.1.gz\n\
             update-alternatives --remove libx.so.3 /usr/lib/x\n";
        let wanted = Alternative {
            priority: 10,
            links: vec![
                link_to("/usr/lib/libx.so.3", "libx.so.3", "/usr/lib/x/libx.so.3"),
                link_to("/usr/share/x.1.gz", "x.1.gz", "/usr/share/y.1.gz"),
            ],
        };
        assert_eq!(alternatives(script), [wanted]);
    }

    #[test]
    fn what_only_a_shell_could_read_or_leads_elsewhere_is_left() {
        for line in [
            "update-alternatives --install /usr/bin/$x x /usr/bin/y 10",
            "update-alternatives --install /usr/bin/x x \"/usr/bin/y\" 10",
            "update-alternatives --install /usr/../../x x /usr/bin/y 10",
            "update-alternatives --install /usr/bin/x ../x /usr/bin/y 10",
            "update-alternatives --install usr/bin/x x /usr/bin/y 10",
            "update-alternatives --install /usr/bin/x x /usr/bin/y ten",
            "update-alternatives --install /usr/bin/x x",
        ] {
            assert_eq!(alternatives(line), [], "{line}");
        }
    }

    #[test]
    fn links_lead_over_the_middle_and_only_to_what_is_there() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("usr/x")).unwrap();
        fs::write(at("usr/x/lib"), "").unwrap();
        make(&link_to("/usr/lib/l", "l", "/usr/x/lib"), root.path()).unwrap();
        make(&link_to("/usr/lib/m", "m", "/usr/x/absent"), root.path()).unwrap();
        let target = |path: &str| fs::read_link(at(path)).ok();
        assert_eq!(target("usr/lib/l"), Some("/etc/alternatives/l".into()));
        assert_eq!(target("etc/alternatives/l"), Some("/usr/x/lib".into()));
        assert_eq!(target("usr/lib/m"), None);
    }
}
