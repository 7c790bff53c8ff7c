//! What peers may send, friendly or not, to both ends alike.

use crate::client::{Client, ClientError};
use crate::connection::{Connection, Meter};
use crate::error::ConnectionError;
use crate::secure::{OVERHEAD, RECORD, Records, Secrets, SecureError, shaken};
use crate::vectored::Span;
use gil_wire::frame::{self, FrameError, MAX_HEADER, MAX_PAYLOAD, PREFIX_LEN, Prefix};
use gil_wire::message::Reply;
use proptest::prelude::*;
use socket2::{Domain, Socket, Type};
use std::io::{self, Write};
use std::sync::LazyLock;

/// Header and payload.
type Frame = (Vec<u8>, Vec<u8>);

/// Why no more frames come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Over {
    /// The connection ended. Only the board tells whether in a frame.
    Ended {
        inside: Option<bool>,
    },
    Frame(FrameError),
    Secure(SecureError),
}

/// The end of the board's connection inside a frame.
const INSIDE: Over = Over::Ended { inside: Some(true) };

impl Over {
    fn is_end(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    fn io(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|e| e.downcast_ref());
        Self::Secure(*inner.expect("no other error of the system"))
    }
}

/// Most bytes of payload that are asked for here, whatever the prefix says.
const PAYLOAD: u64 = 1 << 18;
/// What is in memory before anything comes.
const BEFORE: u8 = 0xEE;

/// One of the two ends.
trait Taker {
    fn frame(&mut self) -> Result<Frame, Over>;
}

impl Taker for Client {
    fn frame(&mut self) -> Result<Frame, Over> {
        let received = self.reply()?;
        let mut payload = vec![BEFORE; received.payload_len.min(PAYLOAD) as usize];
        self.payload(payload.chunks_mut(777).map(Span::target))?;
        Ok((received.header, payload))
    }
}

impl From<ClientError> for Over {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Closed => Self::Ended { inside: None },
            ClientError::Frame(error) => Self::Frame(error),
            ClientError::Io(error) => Self::io(&error),
            other => panic!("{other}"),
        }
    }
}

impl Taker for Connection<()> {
    fn frame(&mut self) -> Result<Frame, Over> {
        // Memory that was used before.
        let (mut header, mut payload) = (vec![BEFORE; 50], vec![BEFORE; 500]);
        let prefix = self.receive(&mut header)?;
        let prefix = prefix.ok_or(Over::Ended {
            inside: Some(false),
        })?;
        self.fill(&mut payload, prefix.payload_len.min(PAYLOAD) as usize)?;
        Ok((header, payload))
    }
}

impl From<ConnectionError> for Over {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::CutShort => Self::Ended { inside: Some(true) },
            ConnectionError::Frame(error) => Self::Frame(error),
            ConnectionError::Io(error) => Self::io(&error),
            other => panic!("{other}"),
        }
    }
}

impl Meter for () {
    fn received(&self, _: u64) {}

    fn sent(&self, _: u64) {}
}

/// What one end makes of what comes to it in pieces of these lengths.
fn taken<T: Taker>(
    mut taker: T,
    mut peer: Socket,
    line: &[u8],
    pieces: &[usize],
) -> (Vec<Frame>, Over) {
    let send = move || {
        let (mut line, mut lens) = (line, pieces.iter().cycle());
        while let (Some(&len), false) = (lens.next(), line.is_empty()) {
            let (piece, rest) = line.split_at(len.min(line.len()));
            // An end that refused what came does not take the rest.
            if peer.write_all(piece).is_err() {
                return;
            }
            line = rest;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(send);
        let mut frames = Vec::new();
        let over = loop {
            match taker.frame() {
                Ok(frame) => frames.push(frame),
                Err(over) => break over,
            }
        };
        drop(taker);
        (frames, over)
    })
}

/// What the host's end and the board's make of the same bytes.
fn both(is_sealed: bool, line: &[u8], pieces: &[usize]) -> [(Vec<Frame>, Over); 2] {
    let records = || is_sealed.then(at_end);
    let (host, to_host) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    let (board, to_board) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    [
        taken(Client::over(host, records()), to_host, line, pieces),
        taken(
            Connection::over(board, records(), ()),
            to_board,
            line,
            pieces,
        ),
    ]
}

/// What a peer seals with, and what either end opens that with.
static KEYS: LazyLock<(Secrets, Secrets)> = LazyLock::new(shaken);

fn at_end() -> Box<Records> {
    Box::new(Records::new(&KEYS.1).unwrap())
}

/// A frame as it is sent.
fn bytes_of((header, payload): &Frame) -> Vec<u8> {
    let prefix = Prefix {
        header_len: header.len() as u32,
        payload_len: payload.len() as u64,
        in_window: false,
    };
    [&prefix.encode()[..], header, payload].concat()
}

/// Each of these as it goes over the line: as it is, or in records of its own.
fn lines(is_sealed: bool, parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut records = is_sealed.then(|| Records::new(&KEYS.0).unwrap());
    let line = |part: &Vec<u8>| match &mut records {
        Some(records) => sealed(records, part),
        None => part.clone(),
    };
    parts.iter().map(line).collect()
}

fn sealed(records: &mut Records, bytes: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    let mut send = |some: &[u8]| {
        line.extend_from_slice(some);
        Ok::<_, SecureError>(())
    };
    records.seal_all(bytes, &mut send).unwrap();
    records.finish(send).unwrap();
    line
}

/// Some frames, short and long.
fn frames() -> Vec<Frame> {
    let some = |len: usize| (0..len).map(|i| (i * 7 + len) as u8).collect::<Vec<u8>>();
    [(3, 0), (0, 5), (40, 300), (9, 1)]
        .map(|(header, payload)| (some(header), some(payload)))
        .to_vec()
}

#[test]
fn a_line_that_is_cut_gives_the_whole_frames_before_and_no_more() {
    for is_sealed in [false, true] {
        let parts: Vec<_> = frames().iter().map(bytes_of).collect();
        let lines = lines(is_sealed, &parts);
        let ends: Vec<usize> = (0..=lines.len())
            .map(|n| lines[..n].concat().len())
            .collect();
        let line = lines.concat();
        for cut in 0..=line.len() {
            let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
            let [host, board] = both(is_sealed, &line[..cut], &[line.len()]);
            assert_eq!(
                host,
                (frames()[..whole].to_vec(), Over::Ended { inside: None })
            );
            let inside = Some(!ends.contains(&cut));
            assert_eq!(board, (frames()[..whole].to_vec(), Over::Ended { inside }));
        }
    }
}

#[test]
fn lengths_out_of_bounds_are_refused_before_anything_is_made_of_them() {
    let first = frames().remove(0);
    for (header_len, payload_len, error) in [
        (
            MAX_HEADER + 1,
            0,
            FrameError::Header(u64::from(MAX_HEADER) + 1),
        ),
        (0, MAX_PAYLOAD + 1, FrameError::Payload(MAX_PAYLOAD + 1)),
    ] {
        let prefix = Prefix {
            header_len,
            payload_len,
            in_window: false,
        };
        for is_sealed in [false, true] {
            let parts = [bytes_of(&first), prefix.encode().to_vec(), vec![1; 100]];
            let line = lines(is_sealed, &parts).concat();
            for outcome in both(is_sealed, &line, &[5]) {
                let expected = (vec![first.clone()], Over::Frame(error.clone()));
                assert_eq!(outcome, expected);
            }
        }
    }
}

#[test]
fn records_that_are_repeated_swapped_or_left_out_are_found() {
    let frames = frames();
    let parts: Vec<_> = frames.iter().map(bytes_of).collect();
    let lines = lines(true, &parts);
    for order in [&[0, 0, 1][..], &[0, 2, 1], &[0, 2, 3]] {
        let line: Vec<u8> = order.iter().flat_map(|&n| lines[n].clone()).collect();
        for outcome in both(true, &line, &[line.len()]) {
            let expected = (frames[..1].to_vec(), Over::Secure(SecureError::Forged));
            assert_eq!(outcome, expected);
        }
    }
    let short = [&lines[0][..], &[15, 0], &[0; 40]].concat();
    for outcome in both(true, &short, &[short.len()]) {
        let expected = (frames[..1].to_vec(), Over::Secure(SecureError::Short(15)));
        assert_eq!(outcome, expected);
    }
}

/// A guest must not see what nobody sealed, though its memory is where the bytes
/// are going.
#[test]
fn forged_bytes_never_reach_the_hosts_spans() {
    let payload = vec![7; 3 * RECORD];
    let mut line = lines(true, &[bytes_of(&(Vec::new(), payload.clone()))]).concat();
    let second = RECORD + OVERHEAD;
    line[second + OVERHEAD + 100] ^= 1;
    let (ours, mut peer) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    let mut client = Client::over(ours, Some(at_end()));
    std::thread::scope(|scope| {
        scope.spawn(move || peer.write_all(&line));
        client.reply().unwrap();
        let mut memory = vec![BEFORE; payload.len()];
        let spans = memory.chunks_mut(4096).map(Span::target);
        let error = client.payload(spans).map_err(Over::from);
        assert_eq!(error, Err(Over::Secure(SecureError::Forged)));
        let right = RECORD - PREFIX_LEN;
        assert!(memory[..right].iter().all(|&byte| byte == 7));
        assert!(memory[right..].iter().all(|&byte| byte == BEFORE));
        drop(client);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn frames_come_out_as_they_went_in(
        lens in prop::collection::vec((0usize..40_000, 0usize..120_000), 0..5),
        pieces in prop::collection::vec(1usize..90_000, 1..5),
        is_sealed: bool,
        seed: u8,
    ) {
        let some = |len| (0..len).map(|i| (i % 251) as u8 ^ seed).collect();
        let frames: Vec<Frame> = lens.iter().map(|&(h, p)| (some(h), some(p))).collect();
        // Records need not end where frames do.
        let stream: Vec<u8> = frames.iter().flat_map(bytes_of).collect();
        let line = lines(is_sealed, &[stream]).concat();
        for (came, over) in both(is_sealed, &line, &pieces) {
            prop_assert!(came == frames);
            prop_assert_ne!(&over, &INSIDE);
            prop_assert!(over.is_end());
        }
    }

    #[test]
    fn what_either_end_sends_the_other_takes(
        lens in prop::collection::vec(0usize..150_000, 1..4),
        piece in 1usize..9000,
        is_sealed: bool,
    ) {
        let (one, two) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        let at_host = || Box::new(Records::new(&KEYS.0).unwrap());
        let mut client = Client::over(one, is_sealed.then(at_host));
        let mut board = Connection::over(two, is_sealed.then(at_end), ());
        std::thread::scope(|scope| -> Result<(), TestCaseError> {
            scope.spawn(move || {
                let (mut header, mut payload) = (Vec::new(), Vec::new());
                while let Some(prefix) = board.receive(&mut header).unwrap() {
                    board.fill(&mut payload, prefix.payload_len as usize).unwrap();
                    let pieces: Vec<&[u8]> = payload.chunks(piece).collect();
                    let reply: Reply<'_> = postcard::from_bytes(&header).unwrap();
                    board.reply(&reply, &pieces, false).unwrap();
                }
            });
            for (n, &len) in lens.iter().enumerate() {
                let mut sent: Vec<u8> = (0..len).map(|i| (i * 7 + n) as u8).collect();
                let mut head = Vec::new();
                let reason = format!("frame {n}");
                frame::begin(&Reply::Refused { reason: reason.clone() }, len as u64, &mut head).unwrap();
                // Some of it as guest RAM is.
                let (steady, guests) = sent.split_at_mut(len / 3);
                let guests: Vec<_> = guests.chunks_mut(piece).map(Span::target).collect();
                let spans = [Span::source(&head), Span::source(steady)].into_iter();
                client.send(spans.chain(guests.iter().map(Span::to_send))).unwrap();
                let (header, payload) = client.frame().map_err(|over| TestCaseError::fail(format!("{over:?}")))?;
                prop_assert_eq!(postcard::from_bytes::<Reply<'_>>(&header), Ok(Reply::Refused { reason }));
                prop_assert!(payload == sent);
            }
            drop(client);
            Ok(())
        })?;
    }

    #[test]
    fn a_changed_byte_of_a_sealed_line_changes_no_frame(
        at: prop::sample::Index,
        bit in 0u8..8,
        pieces in prop::collection::vec(1usize..700, 1..4),
    ) {
        let parts: Vec<_> = frames().iter().map(bytes_of).collect();
        let mut line = lines(true, &parts).concat();
        let at = at.index(line.len());
        line[at] ^= 1 << bit;
        for (came, over) in both(true, &line, &pieces) {
            prop_assert!(frames().starts_with(&came) && came.len() < parts.len());
            // A longer record waits for bytes that never come.
            prop_assert!(over.is_end() || matches!(over, Over::Secure(_)), "{over:?}");
        }
    }

    #[test]
    fn any_bytes_come_to_an_end(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        header_len in 0u8..30,
        is_sealed: bool,
    ) {
        // A first length that is not always out of bounds.
        let line = [&[header_len, 0, 0, 0][..], &bytes].concat();
        let [host, board] = both(is_sealed, &line, &[50]);
        prop_assert!(host.0 == board.0);
        let both_end = host.1.is_end() && board.1.is_end();
        prop_assert!(both_end || host.1 == board.1, "{host:?} {board:?}");
    }
}
