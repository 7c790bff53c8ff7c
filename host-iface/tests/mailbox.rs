//! The mailbox field by field: each is read from its place, and each bound lies
//! where it is said to.

use gil_address_tables::{Extent, GuestAddress, GuestLength, RamMap, RamRange};
use gil_host::mailbox::{Answer, MailboxError, answer, read, submission};
use gil_host::memory::Callbacks;
use gil_host::submission::{Clock, Submission};
use gil_uapi::{Mailbox, MailboxRegion, Status, WaitKind, kind};
use gil_wire::message::Direction;
use std::mem::offset_of;
use std::sync::{Arc, Mutex};

const BASE: u64 = 0x4000_0000;
const MAILBOX: GuestAddress = GuestAddress(BASE);
const SIZE: u64 = 1 << 20;
const REGIONS: u64 = BASE + 0x1000;
const REQUEST: u64 = BASE + 0x4000;
const REPLY: u64 = BASE + 0x8000;
const PAGES: u64 = BASE + 0x10000;
const IN: u32 = 1;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// RAM with a good `SUBMIT` mailbox at its beginning.
struct Guest {
    bytes: Arc<Mutex<Vec<u8>>>,
    memory: Callbacks,
}

fn place(gpa: u64, len: usize) -> Option<std::ops::Range<usize>> {
    let from = gpa.checked_sub(BASE)? as usize;
    (from + len <= SIZE as usize).then_some(from..from + len)
}

impl Guest {
    fn new() -> Self {
        let range = RamRange {
            gpa: GuestAddress(BASE),
            len: GuestLength(SIZE),
            offset: 0,
        };
        let bytes = Arc::new(Mutex::new(vec![0; SIZE as usize]));
        let (from, to) = (bytes.clone(), bytes.clone());
        let memory = Callbacks::new(
            RamMap::new(vec![range]).unwrap(),
            Box::new(move |gpa, out| {
                place(gpa.0, out.len())
                    .map(|place| out.copy_from_slice(&from.lock().unwrap()[place]))
                    .is_some()
            }),
            Box::new(move |gpa, bytes| {
                place(gpa.0, bytes.len())
                    .map(|place| to.lock().unwrap()[place].copy_from_slice(bytes))
                    .is_some()
            }),
        );
        let guest = Self { bytes, memory };
        guest.mailbox();
        guest
    }

    fn put(&self, gpa: u64, bytes: &[u8]) {
        let place = place(gpa, bytes.len()).expect("in RAM");
        self.bytes.lock().unwrap()[place].copy_from_slice(bytes);
    }

    fn word(&self, offset: usize, value: u32) {
        self.put(BASE + offset as u64, &value.to_le_bytes());
    }

    fn long(&self, offset: usize, value: u64) {
        self.put(BASE + offset as u64, &value.to_le_bytes());
    }

    fn mailbox(&self) {
        let words = [
            (offset_of!(Mailbox, magic), gil_uapi::MAILBOX_MAGIC),
            (offset_of!(Mailbox, version), gil_uapi::ABI_VERSION),
            (offset_of!(Mailbox, kind), kind::SUBMIT),
            (offset_of!(Mailbox, pointer_bits), 64),
            (offset_of!(Mailbox, process), 101),
            (offset_of!(Mailbox, thread), 102),
            (offset_of!(Mailbox, counter_hz), 62_500_000),
            (offset_of!(Mailbox, region_count), 0),
            (offset_of!(Mailbox, request_len), 5),
            (offset_of!(Mailbox, reply_cap), 77),
        ];
        let longs = [
            (offset_of!(Mailbox, session), 0x1_0000_0007),
            (offset_of!(Mailbox, seq), 0x1_0000_0009),
            (offset_of!(Mailbox, now_ns), 5_000_000_000),
            (offset_of!(Mailbox, now_counter), 312_500_000),
            (offset_of!(Mailbox, regions), REGIONS),
            (offset_of!(Mailbox, request), REQUEST),
            (offset_of!(Mailbox, reply), REPLY),
        ];
        for (offset, value) in words {
            self.word(offset, value);
        }
        for (offset, value) in longs {
            self.long(offset, value);
        }
        self.put(REQUEST, b"hello");
    }

    /// A region whose extents lie in one chain, so many a page.
    fn region(&self, index: u64, len: u64, extents: &[Extent], a_page: usize) {
        let first = PAGES + index * 0x8000;
        let entry = REGIONS + index * size_of::<MailboxRegion>() as u64;
        self.put(entry, &len.to_le_bytes());
        self.put(entry + 8, &first.to_le_bytes());
        self.put(entry + 24, &IN.to_le_bytes());
        let pages: Vec<_> = extents.chunks(a_page).collect();
        for (n, page) in pages.iter().enumerate() {
            let gpa = first + n as u64 * 0x1000;
            let next = if n + 1 < pages.len() { gpa + 0x1000 } else { 0 };
            self.put(gpa, &next.to_le_bytes());
            self.put(gpa + 8, &(page.len() as u32).to_le_bytes());
            for (entry, extent) in (0..).zip(*page) {
                self.put(gpa + 16 + 16 * entry, &extent.gpa.0.to_le_bytes());
                self.put(gpa + 24 + 16 * entry, &extent.len.0.to_le_bytes());
            }
        }
        self.word(offset_of!(Mailbox, region_count), index as u32 + 1);
    }

    fn read(&self) -> Result<Mailbox, MailboxError> {
        read(&self.memory, MAILBOX)
    }

    fn submission(&self) -> Result<Submission, MailboxError> {
        submission(&self.memory, MAILBOX, &self.read()?)
    }
}

/// The field that is refused, and its value.
fn refused<T: std::fmt::Debug>(result: Result<T, MailboxError>) -> (&'static str, u64) {
    match result {
        Err(MailboxError::Field { field, value }) => (field, value),
        other => panic!("{other:?}"),
    }
}

/// So many extents that do not touch, `len` bytes together.
fn apart(count: u64, len: u64) -> Vec<Extent> {
    let each = len / count;
    let of = |n| Extent {
        gpa: GuestAddress(BASE + 0x4_0000 + n * 1024),
        len: GuestLength(if n + 1 < count {
            each
        } else {
            len - each * (count - 1)
        }),
    };
    (0..count).map(of).collect()
}

#[test]
fn fields_are_read_from_their_places() {
    let guest = Guest::new();
    let mailbox = guest.read().unwrap();
    assert_eq!(mailbox.session, 0x1_0000_0007);
    assert_eq!((mailbox.kind, mailbox.pointer_bits), (kind::SUBMIT, 64));
    assert_eq!(mailbox.process, 101);
    let submission = guest.submission().unwrap();
    let clock = Clock {
        now_ns: 5_000_000_000,
        counter: 312_500_000,
        counter_hz: 62_500_000,
    };
    assert_eq!((submission.seq, submission.clock), (0x1_0000_0009, clock));
    assert_eq!((submission.thread, submission.reply_cap), (102, 77));
    assert_eq!(submission.request, b"hello");
    assert_eq!(submission.regions, []);
}

#[test]
fn fields_have_bounds() {
    let (most, replies) = (gil_uapi::REQUEST_MAX, gil_uapi::REPLY_MAX);
    let bounds: [(&str, usize, &[u32], &[u32]); 6] = [
        (
            "kind",
            offset_of!(Mailbox, kind),
            &[1, 2, 3, 4, 5],
            &[0, 8, u32::MAX],
        ),
        ("seq", offset_of!(Mailbox, seq), &[1], &[]),
        (
            "counter_hz",
            offset_of!(Mailbox, counter_hz),
            &[1, u32::MAX],
            &[0],
        ),
        (
            "request_len",
            offset_of!(Mailbox, request_len),
            &[1, most],
            &[0, most + 1],
        ),
        (
            "reply_cap",
            offset_of!(Mailbox, reply_cap),
            &[0, replies],
            &[replies + 1],
        ),
        (
            "region_count",
            offset_of!(Mailbox, region_count),
            &[0, 64],
            &[65],
        ),
    ];
    for (field, offset, right, wrong) in bounds {
        for &value in right {
            let guest = Guest::new();
            guest.word(offset, value);
            assert!(guest.read().is_ok(), "{field} {value}");
        }
        for &value in wrong {
            let guest = Guest::new();
            guest.word(offset, value);
            assert_eq!(refused(guest.read()), (field, value.into()));
        }
    }
}

#[test]
fn a_clocks_mailbox_is_of_no_session_and_asks_or_sets() {
    for len in [0, 8, 1, 4, u32::MAX] {
        let guest = Guest::new();
        guest.word(offset_of!(Mailbox, kind), kind::CLOCK);
        guest.long(offset_of!(Mailbox, session), 0);
        guest.word(offset_of!(Mailbox, request_len), len);
        match len {
            0 | 8 => drop(guest.read().unwrap()),
            _ => assert_eq!(refused(guest.read()), ("request_len", len.into())),
        }
    }
}

#[test]
fn a_gpus_mailbox_is_of_no_session_and_tells_one_thing_or_none() {
    for len in [0, 4, 8, 12, 1, 5, u32::MAX] {
        let guest = Guest::new();
        guest.word(offset_of!(Mailbox, kind), kind::GPU);
        guest.long(offset_of!(Mailbox, session), 0);
        guest.word(offset_of!(Mailbox, request_len), len);
        match len {
            0 | 4 | 8 | 12 => drop(guest.read().unwrap()),
            _ => assert_eq!(refused(guest.read()), ("request_len", len.into())),
        }
    }
}

#[test]
fn sessions_and_submissions_have_numbers() {
    for (field, offset) in [
        ("session", offset_of!(Mailbox, session)),
        ("seq", offset_of!(Mailbox, seq)),
    ] {
        let guest = Guest::new();
        guest.long(offset, 0);
        assert_eq!(refused(guest.read()), (field, 0));
    }
    // What only a submission says is its own.
    let guest = Guest::new();
    guest.word(offset_of!(Mailbox, kind), kind::COLLECT);
    guest.long(offset_of!(Mailbox, seq), 0);
    guest.word(offset_of!(Mailbox, request_len), 0);
    guest.read().unwrap();
}

#[test]
fn programs_that_open_have_a_width() {
    let with = |kind, bits| {
        let guest = Guest::new();
        guest.word(offset_of!(Mailbox, kind), kind);
        guest.word(offset_of!(Mailbox, pointer_bits), bits);
        guest.read()
    };
    for bits in [32, 64] {
        assert_eq!(with(kind::OPEN, bits).unwrap().pointer_bits, bits);
    }
    assert_eq!(refused(with(kind::OPEN, 16)), ("pointer_bits", 16));
    with(kind::SUBMIT, 16).unwrap();
}

#[test]
fn what_is_no_mailbox_gets_no_answer() {
    let guest = Guest::new();
    for gpa in [BASE + 8, BASE + SIZE - 8] {
        let error = read(&guest.memory, GuestAddress(gpa)).unwrap_err();
        assert!(matches!(error, MailboxError::Magic { .. }), "{error}");
        assert!(!error.is_answerable());
    }
    let newer = gil_uapi::ABI_VERSION + 1;
    guest.word(offset_of!(Mailbox, version), newer);
    let error = guest.read().unwrap_err();
    assert!(
        matches!(error, MailboxError::Version { theirs } if theirs == newer),
        "{error}"
    );
    assert!(error.is_answerable());
}

#[test]
fn entries_are_before_their_doorbell() {
    let clock = Guest::new().submission().unwrap().clock;
    assert_eq!(clock.entry_ns(312_500_000), 5_000_000_000);
    assert_eq!(clock.entry_ns(312_500_000 - 125), 5_000_000_000 - 2_000);
    assert_eq!(clock.entry_ns(0), 0);
    assert_eq!(clock.entry_ns(u64::MAX), 5_000_000_000, "none is after it");
    let mut slow = clock;
    slow.counter_hz = 0;
    assert_eq!(slow.entry_ns(0), 0);
}

#[test]
fn request_reply_and_regions_lie_in_ram() {
    for (offset, gpa) in [
        (offset_of!(Mailbox, request), BASE + SIZE - 4),
        (offset_of!(Mailbox, reply), BASE + SIZE - 76),
        (offset_of!(Mailbox, regions), BASE + SIZE - 1),
    ] {
        let guest = Guest::new();
        guest.region(0, 64, &apart(1, 64), 1);
        guest.long(offset, gpa);
        let error = guest.submission().unwrap_err();
        assert!(
            matches!(error, MailboxError::Memory { gpa: MAILBOX, .. }),
            "{error}"
        );
        assert!(guest.read().is_ok());
    }
    let guest = Guest::new();
    guest.long(offset_of!(Mailbox, reply), BASE + SIZE - 77);
    guest.submission().unwrap();
}

#[test]
fn regions_are_read_through_their_chains() {
    for a_page in [1, 3, 255] {
        let guest = Guest::new();
        let (one, two) = (apart(4, 100), apart(2, 9));
        guest.region(0, 100, &one, a_page);
        guest.region(1, 9, &two, a_page);
        let regions = guest.submission().unwrap().regions;
        let extents = |n: usize| regions[n].extents.iter().collect::<Vec<_>>();
        assert_eq!((extents(0), extents(1)), (one, two));
        assert!(regions.iter().all(|region| region.dir == Direction::In));
    }
}

#[test]
fn regions_may_be_parts_of_chains() {
    let extent = |gpa, len| Extent {
        gpa: GuestAddress(gpa),
        len: GuestLength(len),
    };
    let part = |len: u64, skip: u64, a_page| {
        let guest = Guest::new();
        let all = [
            extent(BASE, 10),
            extent(BASE + 20, 30),
            extent(BASE + 60, 40),
        ];
        guest.region(0, len, &all, a_page);
        guest.put(REGIONS + 16, &skip.to_le_bytes());
        let read = guest.submission()?;
        Ok(read.regions[0].extents.iter().collect::<Vec<_>>())
    };
    assert_eq!(part(1, 0, 2).unwrap(), [extent(BASE, 1)]);
    assert_eq!(
        part(3, 9, 2).unwrap(),
        [extent(BASE + 9, 1), extent(BASE + 20, 2)]
    );
    assert_eq!(part(30, 10, 2).unwrap(), [extent(BASE + 20, 30)]);
    assert_eq!(
        part(41, 39, 2).unwrap(),
        [extent(BASE + 49, 1), extent(BASE + 60, 40)]
    );
    assert_eq!(part(40, 40, 3).unwrap(), [extent(BASE + 60, 40)]);
    // Behind the chain's end, and not in its first page.
    assert!(matches!(part(41, 40, 3), Err(MailboxError::Extents { .. })));
    for (skip, a_page) in [(41, 2), (81, 3), (u64::MAX, 3)] {
        assert_eq!(refused(part(1, skip, a_page)), ("region skip", skip));
    }
    // At the address space's end, of which nothing is left out.
    for bad in [extent(u64::MAX - 8, 16), extent(BASE, 0)] {
        let guest = Guest::new();
        guest.region(0, 4, &[bad, extent(BASE, 20)], 2);
        guest.put(REGIONS + 16, &12u64.to_le_bytes());
        let error = guest.submission().unwrap_err();
        assert!(matches!(error, MailboxError::Extents { .. }), "{error}");
    }
}

#[test]
fn regions_are_no_longer_than_ram_together() {
    let extent = |gpa, len| Extent {
        gpa: GuestAddress(gpa),
        len: GuestLength(len),
    };
    let all = extent(BASE, SIZE);
    let guest = Guest::new();
    guest.region(0, SIZE, &[all], 1);
    // The chain lies in what it describes: nothing forbids that.
    let regions = guest.submission().unwrap().regions;
    assert_eq!(regions[0].extents.len(), GuestLength(SIZE));
    guest.region(1, 1, &[extent(BASE, 1)], 1);
    assert_eq!(refused(guest.submission()), ("region len", 1));

    for len in [0, SIZE + 1] {
        let guest = Guest::new();
        guest.region(0, len, &[all], 1);
        assert_eq!(refused(guest.submission()), ("region len", len));
    }
    let guest = Guest::new();
    guest.region(0, 8, &[extent(BASE - 4, 8)], 1);
    assert!(matches!(
        guest.submission(),
        Err(MailboxError::Memory { .. })
    ));
    let guest = Guest::new();
    guest.region(0, 9, &apart(2, 8), 1);
    let error = guest.submission().unwrap_err();
    assert!(
        matches!(error, MailboxError::Extents { index: 0, .. }),
        "{error}"
    );
    let guest = Guest::new();
    guest.region(0, 8, &apart(1, 8), 1);
    guest.put(REGIONS + 24, &9u32.to_le_bytes());
    assert_eq!(refused(guest.submission()), ("region dir", 9));
}

/// A driver merges what touches: an extent for every 512 bytes, and 64 more.
#[test]
fn regions_have_a_bounded_number_of_extents() {
    let guest = Guest::new();
    guest.region(0, 5120, &apart(74, 5120), 40);
    guest.submission().unwrap();
    guest.region(0, 5120, &apart(75, 5120), 40);
    assert_eq!(refused(guest.submission()), ("extent count", 75));
    guest.region(0, 5119, &apart(74, 5119), 40);
    assert_eq!(refused(guest.submission()), ("extent count", 74));
}

#[test]
fn pages_hold_a_bounded_number_of_extents() {
    let len = 512 * 255;
    let guest = Guest::new();
    guest.region(0, len, &apart(255, len), 255);
    guest.submission().unwrap();
    for count in [0, 256] {
        guest.put(PAGES + 8, &u32::to_le_bytes(count));
        assert_eq!(refused(guest.submission()), ("extent count", count.into()));
    }
}

#[test]
fn chains_end_where_they_loop_or_leave_ram() {
    let guest = Guest::new();
    guest.region(0, 6400, &apart(1, 64), 1);
    guest.put(PAGES, &PAGES.to_le_bytes());
    assert_eq!(refused(guest.submission()).0, "extent count");
    guest.put(PAGES, &(BASE + SIZE - 8).to_le_bytes());
    assert!(matches!(
        guest.submission(),
        Err(MailboxError::Memory { .. })
    ));
}

fn any_answer() -> Answer {
    Answer {
        status: Status::Lost,
        reply: b"reply".to_vec(),
        deadline_ns: 0x1_0000_0002,
        wait: WaitKind::Occupy,
        flags: 21,
        released: (100..120).collect(),
        attention_ns: 0x1_0000_0003,
    }
}

#[test]
fn answers_are_written_to_their_places() {
    let guest = Guest::new();
    guest.put(BASE + size_of::<Mailbox>() as u64, &[9; 8]);
    let before = guest.bytes.lock().unwrap()[..offset_of!(Mailbox, answer.status)].to_vec();
    let mailbox = guest.read().unwrap();
    answer(&guest.memory, MAILBOX, &mailbox, &any_answer()).unwrap();
    let bytes = guest.bytes.lock().unwrap();
    assert_eq!(
        bytes[..offset_of!(Mailbox, answer.status)],
        before,
        "the driver's half is its own"
    );
    let word = |offset| u32_at(&bytes, offset);
    let long = |offset| u64_at(&bytes, offset);
    assert_eq!(
        (
            word(offset_of!(Mailbox, answer.status)),
            word(offset_of!(Mailbox, answer.reply_len))
        ),
        (4, 5)
    );
    assert_eq!(
        (
            word(offset_of!(Mailbox, answer.wait_kind)),
            word(offset_of!(Mailbox, answer.flags))
        ),
        (2, 21)
    );
    assert_eq!(long(offset_of!(Mailbox, answer.deadline_ns)), 0x1_0000_0002);
    assert_eq!(
        long(offset_of!(Mailbox, answer.attention_ns)),
        0x1_0000_0003
    );
    assert_eq!(word(offset_of!(Mailbox, answer.released_count)), 16);
    let released: Vec<u64> = (0..16)
        .map(|n| long(offset_of!(Mailbox, answer.released) + 8 * n))
        .collect();
    assert_eq!(released, (100..116).collect::<Vec<u64>>());
    assert_eq!(
        bytes[size_of::<Mailbox>()..size_of::<Mailbox>() + 8],
        [9; 8]
    );
    let reply = (REPLY - BASE) as usize;
    assert_eq!(bytes[reply..reply + 6], *b"reply\0");
}

#[test]
fn an_answer_that_is_a_status_asks_for_nothing() {
    let guest = Guest::new();
    let mailbox = guest.read().unwrap();
    let refused = Answer::status(Status::BadRequest);
    answer(&guest.memory, MAILBOX, &mailbox, &refused).unwrap();
    let bytes = guest.bytes.lock().unwrap();
    assert_eq!(u32_at(&bytes, offset_of!(Mailbox, answer.status)), 3);
    let rest = &bytes[offset_of!(Mailbox, answer.status) + 4..size_of::<Mailbox>()];
    assert!(rest.iter().all(|byte| *byte == 0));
}

#[test]
fn answers_go_to_ram_only() {
    let guest = Guest::new();
    guest.long(offset_of!(Mailbox, reply), BASE + SIZE - 4);
    let mailbox = guest.read().unwrap();
    let error = answer(&guest.memory, MAILBOX, &mailbox, &any_answer()).unwrap_err();
    assert!(
        matches!(error, MailboxError::Memory { gpa: MAILBOX, .. }),
        "{error}"
    );
}
