//! `--interactive`: the program's standard input is this process's. The guest's init asks
//! for it, by way of the simulator, and a thread answers.
//!
//! Nothing is read that the guest did not ask for.

use crate::terminal;
use gil_wire::control::MESSAGE_MAX;
use gil_wire::input::{Ask, Given, INPUT_MAX, Size};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};

/// Answers whoever connects first, in a thread. With `is_terminal`, the terminal
/// is a raw one from the first question on.
pub fn serve(listener: UnixListener, is_terminal: bool) {
    std::thread::spawn(move || {
        let answered = listener
            .accept()
            .and_then(|(guest, _)| answer_all(guest, Source::new(io::stdin(), is_terminal)));
        // The guest reads an end instead.
        drop(answered);
        terminal::restore();
    });
}

/// Where the input comes from.
struct Source<F> {
    from: F,
    is_terminal: bool,
    /// As the guest knows it.
    size: Option<Size>,
    has_ended: bool,
    bytes: Vec<u8>,
}

fn answer_all(mut guest: UnixStream, mut source: Source<impl AsFd>) -> io::Result<()> {
    while let Some(ask) = next_question(&mut guest)? {
        let answer = postcard::to_stdvec(&source.answer(ask)?).map_err(io::Error::other)?;
        guest.write_all(&(answer.len() as u32).to_le_bytes())?;
        guest.write_all(&answer)?;
    }
    Ok(())
}

/// None once the simulator is gone.
fn next_question(guest: &mut UnixStream) -> io::Result<Option<Ask>> {
    let mut len = [0; 4];
    match guest.read_exact(&mut len) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let len = u32::from_le_bytes(len) as usize;
    if len > MESSAGE_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; len];
    guest.read_exact(&mut message)?;
    let ask = postcard::from_bytes(&message).map_err(io::Error::other)?;
    Ok(Some(ask))
}

impl<F: AsFd> Source<F> {
    fn new(from: F, is_terminal: bool) -> Self {
        Self {
            from,
            is_terminal,
            size: None,
            has_ended: false,
            bytes: Vec::new(),
        }
    }

    fn answer(&mut self, ask: Ask) -> io::Result<Given<'_>> {
        if self.is_terminal {
            terminal::make_raw()?;
        }
        self.take(ask)?;
        Ok(Given {
            size: self.new_size(),
            ended: self.has_ended,
            bytes: &self.bytes,
        })
    }

    /// What is there, or comes within the time for the first of it.
    fn take(&mut self, ask: Ask) -> io::Result<()> {
        let most = INPUT_MAX.min(ask.most as usize);
        self.bytes.resize(most, 0);
        let (mut len, mut patience) = (0, ask.patience_ms.min(u16::MAX.into()) as u16);
        while len < most && !self.has_ended && self.is_readable(patience)? {
            match read(&self.from, &mut self.bytes[len..]) {
                // A terminal that is gone.
                Ok(0) | Err(Errno::EIO) => self.has_ended = true,
                Ok(more) => len += more,
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(errno) => return Err(errno.into()),
            }
            patience = 0;
        }
        self.bytes.truncate(len);
        Ok(())
    }

    fn is_readable(&self, patience: u16) -> io::Result<bool> {
        let mut ends = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ends, PollTimeout::from(patience)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn new_size(&mut self) -> Option<Size> {
        let size = self.is_terminal.then(|| terminal::size(&self.from))?;
        let is_new = size.is_some() && size != self.size;
        self.size = size.or(self.size);
        size.filter(|_| is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, PipeWriter};

    fn source() -> (Source<PipeReader>, PipeWriter) {
        let (read, write) = io::pipe().unwrap();
        (Source::new(read, false), write)
    }

    fn ask(most: u32, patience_ms: u32) -> Ask {
        Ask { most, patience_ms }
    }

    #[test]
    fn what_is_there_is_given_and_no_more_than_was_asked_for() {
        let (mut source, mut write) = source();
        assert_eq!(source.answer(ask(9, 0)).unwrap().bytes, b"");
        write.write_all(b"abcdef").unwrap();
        assert_eq!(source.answer(ask(0, 0)).unwrap().bytes, b"");
        assert_eq!(source.answer(ask(4, 0)).unwrap().bytes, b"abcd");
        let last = source.answer(ask(4, 0)).unwrap();
        assert_eq!((last.bytes, last.ended), (&b"ef"[..], false));
        drop(write);
        let end = source.answer(ask(4, 0)).unwrap();
        assert_eq!((end.bytes, end.ended, end.size), (&b""[..], true, None));
    }

    #[test]
    fn the_end_of_a_file_comes_with_its_last_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"text").unwrap();
        let mut source = Source::new(file.reopen().unwrap(), false);
        let given = source.answer(ask(u32::MAX, 0)).unwrap();
        assert_eq!((given.bytes, given.ended), (&b"text"[..], true));
    }

    #[test]
    fn a_patient_question_waits_for_the_first_bytes() {
        let (mut source, mut write) = source();
        let typist = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            write.write_all(b"late").unwrap();
        });
        assert_eq!(source.answer(ask(9, 60_000)).unwrap().bytes, b"late");
        typist.join().unwrap();
    }

    #[test]
    fn nonsense_is_no_question() {
        for nonsense in [
            &[0xff; 8][..],
            &[0, 0, 0, 0],
            &[1, 0, 0, 0, 0xff],
            &[9, 0, 0, 0],
        ] {
            let (mut guest, host) = UnixStream::pair().unwrap();
            guest.write_all(nonsense).unwrap();
            drop(guest);
            let (source, _write) = source();
            assert!(answer_all(host, source).is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn questions_are_answered_until_the_guest_is_gone() {
        let (source, mut write) = source();
        write.write_all(b"typed").unwrap();
        let (mut guest, host) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || answer_all(host, source));
        let message = postcard::to_stdvec(&ask(100, 0)).unwrap();
        guest
            .write_all(&(message.len() as u32).to_le_bytes())
            .unwrap();
        guest.write_all(&message).unwrap();
        let mut len = [0; 4];
        guest.read_exact(&mut len).unwrap();
        let mut answer = vec![0; u32::from_le_bytes(len) as usize];
        guest.read_exact(&mut answer).unwrap();
        let given: Given = postcard::from_bytes(&answer).unwrap();
        assert_eq!(given.bytes, b"typed");
        drop(guest);
        server.join().unwrap().unwrap();
    }
}
