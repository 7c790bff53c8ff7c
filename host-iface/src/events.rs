//! Where events are reported: to `gil run` over a socket, or to this
//! process's own output.

use gil_transport::client::Cancel;
use gil_wire::control::Stream;
use gil_wire::monitor::{Event, MAX_EVENT};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

/// Warnings shown before the rest is left out: a broken guest must not fill
/// the terminal.
const MAX_WARNINGS: u32 = 50;
/// Longest wait of one write without a look at the cancel flag.
const SLICE: Duration = Duration::from_millis(100);
/// How long a monitor may leave its socket full.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes events.
pub trait Sink: Send {
    /// Something happened.
    fn tell(&mut self, event: Event);
}

/// Events for the host interface, with warnings kept in bounds.
pub struct Events {
    sink: Box<dyn Sink>,
    warnings: u32,
}

impl Events {
    /// Tells `sink`.
    pub fn new(sink: Box<dyn Sink>) -> Self {
        Self { sink, warnings: 0 }
    }

    /// Something happened.
    pub fn tell(&mut self, event: Event) {
        self.sink.tell(event);
    }

    /// Something the user should read.
    pub fn warn(&mut self, text: String) {
        tracing::warn!("{text}");
        self.warnings = self.warnings.saturating_add(1);
        if self.warnings <= MAX_WARNINGS {
            self.sink.tell(Event::Warning { text });
        } else if self.warnings == MAX_WARNINGS + 1 {
            let text = format!("more than {MAX_WARNINGS} warnings: the rest is left out");
            self.sink.tell(Event::Warning { text });
        }
    }
}

/// Forgets everything.
#[derive(Debug, Default)]
pub struct Silent;

impl Sink for Silent {
    fn tell(&mut self, _: Event) {}
}

/// This process's standard output and error: the program's output as it came,
/// and `gil: ` before each warning.
#[derive(Debug, Default)]
pub struct Standard;

impl Sink for Standard {
    fn tell(&mut self, event: Event) {
        // Nobody is left to tell when standard output is closed.
        let _ = match event {
            Event::Console {
                stream: Stream::Out,
                bytes,
            } => raw(io::stdout().as_fd(), &bytes),
            Event::Console {
                stream: Stream::Err,
                bytes,
            } => raw(io::stderr().as_fd(), &bytes),
            Event::Warning { text } | Event::Fatal { text } => line(&text),
            Event::Failed { reason, .. } => line(&reason),
            Event::Watch { text } => line(&format!("watch: {text}")),
            _ => Ok(()),
        };
    }
}

fn raw(fd: std::os::fd::BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    File::from(fd.try_clone_to_owned()?).write_all(bytes)
}

fn line(text: &str) -> io::Result<()> {
    raw(io::stderr().as_fd(), format!("gil: {text}\n").as_bytes())
}

/// The monitor socket cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the monitor at {}: {error}: is gil run listening there?", path.display())]
pub struct MonitorError {
    path: PathBuf,
    error: io::Error,
}

/// `gil run`, over its Unix socket.
#[derive(Debug)]
pub struct Monitor {
    socket: UnixStream,
    cancel: Cancel,
}

impl Monitor {
    /// Connects, and watches: when the peer closes, `cancel` is set. What it asks is
    /// for whoever takes the questions.
    ///
    /// # Errors
    /// [`MonitorError`] names the path.
    pub fn connect(path: &Path, cancel: Cancel) -> Result<(Self, Questions), MonitorError> {
        let failed = |error| MonitorError {
            path: path.into(),
            error,
        };
        let socket = UnixStream::connect(path).map_err(failed)?;
        socket.set_write_timeout(Some(SLICE)).map_err(failed)?;
        let watched = socket.try_clone().map_err(failed)?;
        let flag = cancel.clone();
        let (asking, asked) = mpsc::sync_channel(1);
        quiet_thread(move || watch(watched, &asking, &flag)).map_err(failed)?;
        let path = path.into();
        Ok((Self { socket, cancel }, Questions { path, asked }))
    }
}

/// The peer's questions of how the run does.
#[derive(Debug)]
pub struct Questions {
    path: PathBuf,
    asked: Receiver<()>,
}

impl Questions {
    /// Has `answer` called after each, or some, on a thread of its own: it may wait.
    ///
    /// # Errors
    /// [`MonitorError`] if there can be no thread.
    pub fn answered_by(
        self,
        mut answer: impl FnMut() + Send + 'static,
    ) -> Result<(), MonitorError> {
        let Self { path, asked } = self;
        let answered = quiet_thread(move || asked.iter().for_each(|()| answer()));
        answered.map_err(|error| MonitorError { path, error })
    }
}

/// Starts a thread that takes no signals: they are the simulator's.
fn quiet_thread(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use nix::sys::signal::{SigSet, SigmaskHow};
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let thread = std::thread::Builder::new().name("gil-monitor".into());
    let spawned = thread.spawn(body);
    before.thread_set_mask()?;
    spawned.map(drop)
}

/// Reads until the peer closes, and passes on what it asks. One question that waits for
/// its answer stands for all that come meanwhile.
fn watch(mut socket: UnixStream, asking: &SyncSender<()>, cancel: &Cancel) {
    let mut bytes = [0; 64];
    loop {
        match socket.read(&mut bytes) {
            Ok(0) => break,
            Ok(_) => drop(asking.try_send(())),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    cancel.set();
}

impl Sink for Monitor {
    fn tell(&mut self, event: Event) {
        if self.send(&event).is_err() {
            self.cancel.set();
        }
    }
}

impl Monitor {
    /// A peer that reads slowly is waited for, in slices; one that does not
    /// read at all counts as gone.
    fn send(&mut self, event: &Event) -> io::Result<()> {
        let bytes = postcard::to_extend(event, vec![0; 4]).map_err(io::Error::other)?;
        let len = bytes.len() as u32 - 4;
        if len > MAX_EVENT {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "event too long"));
        }
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&len.to_le_bytes());
        self.send_all(&bytes)
    }

    fn send_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(done) => bytes = &bytes[done..],
                Err(error) if self.may_try_again(&error, begun) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn may_try_again(&self, error: &io::Error, begun: Instant) -> bool {
        let wait = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
        wait && !self.cancel.is_set() && begun.elapsed() < PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::sync::{Arc, Mutex};

    #[test]
    fn events_arrive_and_closing_cancels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor");
        let listener = UnixListener::bind(&path).unwrap();
        let cancel = Cancel::default();
        let told = Cancel::default();
        let tell = told.clone();
        cancel.on_set(move || tell.set());
        let (mut monitor, _) = Monitor::connect(&path, cancel.clone()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let event = Event::Warning { text: "w".into() };
        monitor.tell(event.clone());
        let mut len = [0; 4];
        peer.read_exact(&mut len).unwrap();
        let mut bytes = vec![0; u32::from_le_bytes(len) as usize];
        peer.read_exact(&mut bytes).unwrap();
        assert_eq!(postcard::from_bytes::<Event>(&bytes).unwrap(), event);
        assert!(!cancel.is_set());
        drop(peer);
        let start = Instant::now();
        while !(cancel.is_set() && told.is_set()) {
            assert!(start.elapsed() < Duration::from_secs(5));
            std::thread::yield_now();
        }
    }

    #[test]
    fn questions_are_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor");
        let listener = UnixListener::bind(&path).unwrap();
        let cancel = Cancel::default();
        let (_monitor, questions) = Monitor::connect(&path, cancel.clone()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let (answering, answered) = mpsc::channel();
        questions
            .answered_by(move || answering.send(()).unwrap())
            .unwrap();
        for _ in 0..3 {
            peer.write_all(&[gil_wire::monitor::ASK]).unwrap();
            answered.recv_timeout(Duration::from_secs(5)).unwrap();
        }
        assert!(!cancel.is_set());
    }

    #[test]
    fn a_flood_of_warnings_is_cut() {
        struct Count(Arc<Mutex<u32>>);
        impl Sink for Count {
            fn tell(&mut self, _: Event) {
                *self.0.lock().unwrap() += 1;
            }
        }
        let count = Arc::new(Mutex::new(0));
        let mut events = Events::new(Box::new(Count(count.clone())));
        (0..1000).for_each(|i| events.warn(i.to_string()));
        assert_eq!(*count.lock().unwrap(), MAX_WARNINGS + 1);
    }
}
