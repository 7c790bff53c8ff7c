//! The links of the tree's Markdown pages: each leads to a file, and to a heading
//! where it names one; and every page is in the book.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The book's table of contents.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// What is wrong with the pages.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// Git cannot list the files.
    #[error("git ls-files does not run ({0}): the pages are those that git knows")]
    Git(std::io::Error),
    /// A page cannot be read.
    #[error("{page}: {error}")]
    Page {
        /// Its path in the tree.
        page: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// Links that lead nowhere, and pages that are not in the book.
    #[error("{}", .0.join("\n"))]
    Wrong(Vec<String>),
}

/// Checks every page that git knows.
///
/// # Errors
/// [`LinksError::Wrong`] with all that is wrong.
pub fn check(root: &Path) -> Result<(), LinksError> {
    let pages = read(root)?;
    let exists = |path: &str| root.join(path).exists();
    let mut wrong = broken(&pages, &exists);
    wrong.extend(unlisted(&pages));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(LinksError::Wrong(wrong))
    }
}

/// The book's pages and the files that they link to, as paths in the tree.
///
/// # Errors
/// Pages that cannot be listed or read.
pub fn of_the_book(root: &Path) -> Result<BTreeSet<String>, LinksError> {
    let pages = read(root)?;
    let listed = targets(&pages, SUMMARY);
    let linked = listed.iter().flat_map(|page| targets(&pages, page));
    let all = listed.iter().cloned().chain(linked);
    Ok(all.filter(|path| root.join(path).is_file()).collect())
}

/// Where a page's links lead in the tree.
fn targets(pages: &BTreeMap<String, Page>, page: &str) -> BTreeSet<String> {
    let links = pages.get(page).into_iter().flat_map(|page| &page.links);
    let files = links.filter_map(|link| link.split('#').next());
    let files = files.filter(|file| !file.is_empty() && !is_external(file));
    files.filter_map(|file| resolve(page, file)).collect()
}

/// Every page that git knows.
fn read(root: &Path) -> Result<BTreeMap<String, Page>, LinksError> {
    let mut pages = BTreeMap::new();
    for page in names(root)? {
        match std::fs::read_to_string(root.join(&page)) {
            Ok(text) => pages.insert(page, Page::parse(&text)),
            Err(error) => return Err(LinksError::Page { page, error }),
        };
    }
    Ok(pages)
}

fn names(root: &Path) -> Result<Vec<String>, LinksError> {
    let mut git = Command::new("git");
    let git = git.args(["ls-files", "--", "*.md"]).current_dir(root);
    let list = git.output().map_err(LinksError::Git)?.stdout;
    let list = String::from_utf8_lossy(&list);
    Ok(list.lines().map(str::to_owned).collect())
}

/// What a page links to, and where links may lead in it.
#[derive(Debug, Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.add_anchor(heading.take()),
                Event::Text(CowStr::Borrowed(text)) | Event::Code(CowStr::Borrowed(text)) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(text);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// Equal headings are numbered.
    fn add_anchor(&mut self, heading: Option<String>) {
        let anchor = anchor(&heading.unwrap_or_default());
        let numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let mut free = std::iter::once(anchor.clone()).chain(numbered);
        let free = free.find(|anchor| !self.anchors.contains(anchor));
        self.anchors.extend(free);
    }
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let keep = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let kept = heading.trim().chars().filter(keep);
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// A link from `page`, as a path in the tree; `None` if it leaves it.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    path.to_str().map(str::to_owned)
}

fn is_external(link: &str) -> bool {
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| link.starts_with(scheme))
}

/// A line for each link that leads nowhere.
fn broken(pages: &BTreeMap<String, Page>, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let all = pages.iter().flat_map(|(name, page)| {
        let links = page.links.iter().filter(|link| !is_external(link));
        links.map(move |link| (name, link))
    });
    all.filter_map(|(name, link)| {
        let fault = fault(pages, name, link, exists)?;
        Some(format!("{name}: the link \"{link}\" {fault}"))
    })
    .collect()
}

/// What is wrong with a link within the tree.
fn fault(
    pages: &BTreeMap<String, Page>,
    page: &str,
    link: &str,
    exists: &dyn Fn(&str) -> bool,
) -> Option<&'static str> {
    let (file, wanted) = link
        .split_once('#')
        .map_or((link, None), |(file, wanted)| (file, Some(wanted)));
    let target = if file.is_empty() {
        page.to_owned()
    } else {
        match resolve(page, file) {
            Some(target) if exists(&target) => target,
            Some(_) => return Some("leads to no file"),
            None => return Some("leaves the tree"),
        }
    };
    let wanted = wanted?;
    let found = pages.get(&target).map(|page| page.anchors.contains(wanted));
    (found != Some(true)).then_some("leads to no heading of that page")
}

/// A line for each page of `docs/`, and of the root, that the book lacks.
fn unlisted(pages: &BTreeMap<String, Page>) -> Vec<String> {
    let listed = targets(pages, SUMMARY);
    let of_the_book = |page: &&String| page.starts_with("docs/") || !page.contains('/');
    let lacking = pages.keys().filter(of_the_book);
    lacking
        .filter(|page| *page != SUMMARY && !listed.contains(*page))
        .map(|page| format!("{SUMMARY}: {page} is not in the book"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(pages: &[(&str, &str)]) -> BTreeMap<String, Page> {
        let parse = |(name, text): &(&str, &str)| ((*name).to_owned(), Page::parse(text));
        pages.iter().map(parse).collect()
    }

    fn broken_in(pages: &[(&str, &str)]) -> Vec<String> {
        let names: Vec<_> = pages.iter().map(|(name, _)| *name).collect();
        broken(&tree(pages), &|path| {
            names.contains(&path) || path == "a/picture.svg"
        })
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let a = "# One\n[b](../b.md#two-words) [own](#one) ![p](picture.svg) [w](https://x.y/z)";
        let b = "## `Two` words\n\n[a](a/a.md)";
        assert_eq!(broken_in(&[("a/a.md", a), ("b.md", b)]), [""; 0]);
    }

    #[test]
    fn each_link_that_leads_nowhere_is_named() {
        let a = "# One\n\n| [x](gone.md) |\n|---|\n| [y](#two) |\n\n![p](gone.svg) [z](../../c.md)";
        let wrong = broken_in(&[("a/a.md", a)]);
        assert_eq!(wrong.len(), 4, "{wrong:#?}");
        for (line, part) in wrong
            .iter()
            .zip(["gone.md", "#two", "gone.svg", "leaves the tree"])
        {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn links_in_code_are_none() {
        let code = "    [x](gone.md)\n\n`[y](gone.md)`\n\n```\n[z](gone.md)\n```\n";
        assert_eq!(broken_in(&[("a.md", code)]), [""; 0]);
    }

    #[test]
    fn anchors_are_those_of_the_readers() {
        assert_eq!(anchor("gem5: a GPU, and PoCL"), "gem5-a-gpu-and-pocl");
        assert_eq!(anchor("region-tcp"), "region-tcp");
        let page = Page::parse("# A\n\n# A\n\n## A\n");
        assert_eq!(
            page.anchors.into_iter().collect::<Vec<_>>(),
            ["a", "a-1", "a-2"]
        );
    }

    #[test]
    fn pages_that_the_book_lacks_are_named() {
        let pages = [
            (SUMMARY, "[r](../README.md)\n- [a](A.md)"),
            ("README.md", ""),
            ("docs/A.md", ""),
            ("docs/coverage/b.md", ""),
            ("examples/README.md", ""),
        ];
        let lacking = unlisted(&tree(&pages));
        assert_eq!(
            lacking,
            ["docs/SUMMARY.md: docs/coverage/b.md is not in the book"]
        );
    }
}
