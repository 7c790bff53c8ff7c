//! The book in a real browser: every page opens, and every link, image and anchor
//! leads somewhere. `scripts/test --long book` builds the book and runs this.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// A page of this test's own, which opens the others and posts what it saw.
const CRAWLER: &str = include_str!("book/crawler.html");
const BROWSERS: [&str; 2] = ["chromium-headless-shell", "chromium"];

fn book() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(xtask::book::FOLDER).join("html")
}

/// The type by which a browser shows a file.
fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

/// Serves one request: a file of the book, the crawler, or what it posts.
fn serve(mut stream: TcpStream, seen: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match path {
        "/crawler" => answer(&mut stream, "200 OK", "text/html", CRAWLER.as_bytes()),
        "/seen" => {
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            drop(seen.send(String::from_utf8_lossy(&body).into_owned()));
            answer(&mut stream, "200 OK", "text/plain", b"")
        }
        _ => {
            let file = book().join(path.trim_start_matches('/'));
            match std::fs::read(&file) {
                Ok(bytes) => answer(&mut stream, "200 OK", kind(&file), &bytes),
                Err(_) => answer(&mut stream, "404 Not Found", "text/plain", b"no such file"),
            }
        }
    }
}

/// A browser that is ended with the test: all its processes, since Debian's command is a
/// script that starts them.
struct Browser(Child);

impl Browser {
    fn open(url: &str, profile: &Path) -> Self {
        let start = |program: &&str| {
            let mut browser = Command::new(program);
            browser.args(["--headless", "--no-sandbox", "--disable-gpu"]);
            browser.arg(format!("--user-data-dir={}", profile.display()));
            browser.args(["--remote-debugging-port=0", url]);
            let browser = browser.stdout(Stdio::null()).stderr(Stdio::null());
            browser.process_group(0).spawn().ok()
        };
        let found = BROWSERS.iter().find_map(start);
        Self(found.expect("a browser: apt-get install chromium-headless-shell"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.0.id().cast_signed());
        let _ = killpg(group, Signal::SIGKILL);
        drop(self.0.wait());
    }
}

/// Every page below the book's folder, as its URL's path.
fn pages(folder: &Path, below: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| {
        panic!("{}: {error}: run scripts/docs", folder.display());
    });
    let mut all = BTreeSet::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = format!("{below}/{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            all.extend(pages(&path, &name));
        } else if name.ends_with(".html") {
            all.insert(name);
        }
    }
    all
}

#[test]
#[ignore = "needs a browser and the book: scripts/test --long book"]
fn every_link_of_the_book_leads_somewhere() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/crawler", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || drop(serve(stream, &sender)));
        }
    });
    let profile = tempfile::tempdir().unwrap();
    let _browser = Browser::open(&url, profile.path());
    let mut opened = BTreeSet::new();
    loop {
        let line = receiver.recv_timeout(Duration::from_secs(120));
        let line = line.unwrap_or_else(|_| panic!("the browser is silent after {opened:?}"));
        let (what, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match what {
            "opened" => drop(opened.insert(rest.to_owned())),
            "done" => {
                let (count, wrong) = rest.split_once(' ').expect("a number");
                let wrong: Vec<_> = wrong.lines().filter(|line| !line.is_empty()).collect();
                assert!(wrong.is_empty(), "{wrong:#?}");
                println!("{count} pages, {} of them opened", opened.len());
                break;
            }
            other => panic!("{other}"),
        }
    }
    let pages = pages(&book(), "");
    let own = |page: &&String| !page.starts_with("/api/");
    // The page for missing addresses, the one to print, and a frame's.
    let unlinked = ["/404.html", "/print.html", "/toc.html"];
    let missed = pages
        .iter()
        .filter(own)
        .filter(|page| !opened.contains(*page));
    let missed: Vec<_> = missed
        .filter(|page| !unlinked.contains(&&***page))
        .collect();
    assert!(missed.is_empty(), "nothing leads to {missed:?}");
    assert!(opened.iter().any(|page| page.starts_with("/api/gil_host/")));
}
