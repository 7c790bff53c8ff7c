//! Messages of the guest to whoever serves a channel on the host.

mod support;

use gil_host::Config;
use gil_uapi::Status;
use gil_wire::control::{Channel, EXCHANGE, Exchange, Exchanged, MESSAGE_MAX};
use gil_wire::envelope::{Class, Envelope};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use support::guest::{DATA, Guest, IN, OUT};

const OK: u32 = Status::Ok as u32;
const BAD: u32 = Status::BadRequest as u32;
/// Where answers go.
const ANSWER: u64 = DATA + 0x10000;

/// Whoever serves a channel.
struct Peer {
    path: PathBuf,
    served: JoinHandle<Vec<Vec<u8>>>,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// Answers each message with these bytes, whatever they are, and hangs up.
    fn sends(answers: Vec<Vec<u8>>) -> Self {
        Self::serves(move |socket| {
            let answer = |answer: Vec<u8>| {
                let message = read(socket);
                socket.write_all(&answer).unwrap();
                message
            };
            answers.into_iter().map(answer).collect()
        })
    }

    fn serves(serve: impl FnOnce(&mut UnixStream) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("channel");
        let listener = UnixListener::bind(&path).unwrap();
        let served = std::thread::spawn(move || serve(&mut listener.accept().unwrap().0));
        Self {
            path,
            served,
            _folder: folder,
        }
    }

    fn files(&self) -> Guest {
        let files = Some(self.path.clone());
        let config = Config {
            files,
            ..Config::default()
        };
        Guest::with(config, false)
    }
}

fn read(socket: &mut UnixStream) -> Vec<u8> {
    let mut len = [0; 4];
    socket.read_exact(&mut len).unwrap();
    let mut message = vec![0; u32::from_le_bytes(len) as usize];
    socket.read_exact(&mut message).unwrap();
    message
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// Sends these regions; what came of it.
fn exchange(
    guest: &mut Guest,
    channel: Channel,
    regions: &[(u64, u64, u32)],
) -> Result<Exchanged, u32> {
    let args = postcard::to_stdvec(&Exchange { channel }).unwrap();
    let envelope = Envelope {
        regions: regions.len() as u32,
        args: &args,
        ..Envelope::new(EXCHANGE, Class::Query, 0)
    };
    let seen = guest.submit(&[envelope], regions);
    match seen.status {
        OK => Ok(postcard::from_bytes(seen.answer().result).unwrap()),
        status => Err(status),
    }
}

fn send(guest: &mut Guest, channel: Channel, message: &[u8]) -> Exchanged {
    guest.write(DATA, message);
    let regions = [(DATA, message.len() as u64, IN), (ANSWER, 8, OUT)];
    exchange(guest, channel, &regions).unwrap()
}

#[test]
fn a_message_is_answered_and_takes_no_time() {
    let peer = Peer::sends(vec![framed(b"yes"), framed(b"")]);
    let mut guest = peer.files();
    guest.write(ANSWER, b"........");
    let answered = send(&mut guest, Channel::Files, b"ask");
    assert_eq!(answered, Exchanged::Answered { len: 3 });
    assert_eq!(guest.read(ANSWER, 8), b"yes.....", "no byte more");
    assert_eq!(guest.seen().deadline_ns, 0);
    let answered = send(&mut guest, Channel::Files, b"again");
    assert_eq!(answered, Exchanged::Answered { len: 0 });
    let gone = send(&mut guest, Channel::Files, b"still?");
    assert_eq!(gone, Exchanged::Gone);
    assert_eq!(peer.served.join().unwrap(), [&b"ask"[..], b"again"]);
}

#[test]
fn a_channel_that_is_not_there_says_so() {
    let peer = Peer::sends(vec![]);
    let mut guest = peer.files();
    let exchanged = send(&mut guest, Channel::Input, b"x");
    assert_eq!(exchanged, Exchanged::NotServed);
}

#[test]
fn an_answer_that_does_not_fit_ends_the_channel() {
    for odd in [9, MESSAGE_MAX as u32 + 1, u32::MAX] {
        let odd = [&odd.to_le_bytes()[..], &[b'!'; 20]].concat();
        let peer = Peer::sends(vec![odd, framed(b"late")]);
        let mut guest = peer.files();
        for _ in 0..2 {
            assert_eq!(send(&mut guest, Channel::Files, b"x"), Exchanged::Gone);
        }
        assert_eq!(guest.read(ANSWER, 8), [0; 8]);
    }
}

#[test]
fn another_process_gets_nothing_until_the_first_is_gone() {
    let peer = Peer::sends(vec![framed(b"one"), framed(b"two")]);
    let mut guest = peer.files();
    let answered = |len| Exchanged::Answered { len };
    assert_eq!(send(&mut guest, Channel::Files, b"a"), answered(3));
    let first = guest.session;
    guest.session = 8;
    assert_eq!(guest.simple(gil_uapi::kind::OPEN).status, OK);
    assert_eq!(send(&mut guest, Channel::Files, b"b"), Exchanged::Taken);
    guest.session = first;
    guest.close();
    guest.session = 8;
    assert_eq!(send(&mut guest, Channel::Files, b"c"), answered(3));
    assert_eq!(peer.served.join().unwrap(), [b"a", b"c"]);
}

#[test]
fn what_is_no_message_is_refused() {
    let peer = Peer::sends(vec![framed(b"ok")]);
    let mut guest = peer.files();
    let one = (DATA, 4, IN);
    let out = (ANSWER, 4, OUT);
    for odd in [
        &[][..],
        &[one],
        &[out],
        &[out, one],
        &[one, one],
        &[one, out, out],
    ] {
        assert_eq!(
            exchange(&mut guest, Channel::Files, odd),
            Err(BAD),
            "{odd:?}"
        );
    }
    let answered = exchange(&mut guest, Channel::Files, &[one, out]);
    assert_eq!(answered, Ok(Exchanged::Answered { len: 2 }));
}

#[test]
fn quitting_ends_the_wait_for_an_answer() {
    let peer = Peer::serves(|socket| {
        let message = read(socket);
        // Silent until the other side hangs up.
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
        vec![message]
    });
    let mut guest = peer.files();
    let cancel = guest.host.cancel();
    let quit = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        cancel.set();
    });
    assert_eq!(send(&mut guest, Channel::Files, b"?"), Exchanged::Gone);
    quit.join().unwrap();
    assert_eq!(peer.served.join().unwrap(), [b"?"]);
}
