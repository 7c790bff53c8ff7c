//! A page with the guest's display, for a browser on this machine: a server on loopback
//! that answers under one path only, which nobody can guess, and ends with this process.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Most connections at a time: each has a thread.
const MOST: usize = 16;
/// How long a browser may take to ask, and to read an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a request.
const REQUEST_MAX: usize = 8 << 10;
/// Bytes of randomness in the path.
const SECRET: usize = 16;

const PAGE: &str = include_str!("page.html");
/// The page's own script and picture, and nothing from anywhere else.
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; frame-ancestors 'none'";

/// Serves pictures from `picture`, as PNG; where.
///
/// # Errors
/// Those of opening a port, and of randomness.
pub fn serve(picture: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static) -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let path = format!("/{}/", secret()?);
    let address = format!("http://{}{path}", listener.local_addr()?);
    let site = Arc::new(Site { path, picture });
    thread::spawn(move || accept(&listener, &site));
    Ok(address)
}

fn secret() -> io::Result<String> {
    let mut bytes = [0; SECRET];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

struct Site<F> {
    /// With a slash on both sides.
    path: String,
    picture: F,
}

fn accept<F>(listener: &TcpListener, site: &Arc<Site<F>>)
where
    F: Fn() -> Option<Vec<u8>> + Send + Sync + 'static,
{
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, or the like: not at once again.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        // Beyond the bound, the connection is closed.
        if open.fetch_add(1, Ordering::Relaxed) >= MOST {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (site, open) = (site.clone(), open.clone());
        thread::spawn(move || {
            // A browser that went away is no error.
            let _ = site.answer(stream);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl<F: Fn() -> Option<Vec<u8>>> Site<F> {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = read_request(&mut stream)?;
        let name = path_of(&request).and_then(|path| path.strip_prefix(self.path.as_str()));
        let (status, kind, body) = match name {
            Some("") => (
                "200 OK",
                "text/html; charset=utf-8",
                PAGE.as_bytes().to_vec(),
            ),
            Some("screen.png") => match (self.picture)() {
                Some(png) => ("200 OK", "image/png", png),
                None => ("503 Service Unavailable", "text/plain", Vec::new()),
            },
            _ => ("404 Not Found", "text/plain", Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\nContent-Security-Policy: {POLICY}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }
}

/// The head of a request, to its empty line.
fn read_request(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part)?;
        request.extend(&part[..count]);
        if count == 0 || request.len() > REQUEST_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(request)
}

/// The path that a request asks for, without what follows a question mark.
fn path_of(request: &[u8]) -> Option<&str> {
    let line = request.split(|&byte| byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_get = method == "GET" && version.starts_with("HTTP/1.");
    is_get.then(|| target.split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: &str, request: &str) -> String {
        let host = address.trim_start_matches("http://").split('/').next();
        let mut stream = TcpStream::connect(host.unwrap()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn nothing_but_the_page_and_the_picture_is_served() {
        let address = serve(|| Some(b"a picture".to_vec())).unwrap();
        let path = &address[address.rfind(":").unwrap()..];
        let path = &path[path.find('/').unwrap()..];
        let get = |path: &str| ask(&address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(get(path).contains("<img"));
        assert!(get(&format!("{path}screen.png?5")).ends_with("\r\n\r\na picture"));
        for wrong in ["/", "/screen.png", "//", &format!("{path}..")] {
            assert!(get(wrong).starts_with("HTTP/1.1 404"), "{wrong}");
        }
        let post = ask(&address, &format!("POST {path} HTTP/1.1\r\n\r\n"));
        assert!(post.starts_with("HTTP/1.1 404"));
        let long = format!("GET {path}{} HTTP/1.1\r\n\r\n", "x".repeat(REQUEST_MAX));
        assert!(!ask(&address, &long).contains("200"));
    }

    #[test]
    fn each_page_has_a_path_of_its_own() {
        let address = || serve(|| None).unwrap();
        let (one, other) = (address(), address());
        let secret = |address: &str| address.rsplit('/').nth(1).unwrap().to_owned();
        assert_eq!(secret(&one).len(), 2 * SECRET);
        assert_ne!(secret(&one), secret(&other));
    }
}
