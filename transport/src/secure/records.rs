//! Records: a length (`u16`, little-endian) and that many bytes, which are up
//! to [`RECORD`] bytes of the stream, encrypted, and a tag.
//!
//! The n-th record of a direction has the nonce n, as in Noise, so that several can be
//! sealed or opened in parallel ([`Crew`]). The buffers hold many records and are
//! reused, so that one system call moves many of them, and bulk data is encrypted from
//! its source and decrypted to its destination without another copy.

use super::SecureError;
use super::secrets::{Ciphers, Secrets, TAG};
use crate::crew::Crew;
use crate::vectored::SendSpan;
use std::ops::Range;
use zeroize::Zeroizing;

/// Most bytes of the stream in one record: they and their encrypted form fit
/// a first-level cache's neighbour.
pub const RECORD: usize = 32 << 10;
/// Bytes that a record adds to them: length and tag.
pub const OVERHEAD: usize = LEN + TAG;
const LEN: usize = 2;
/// Encrypted bytes that go out at a time: few enough for the peer to open some
/// while the next are sealed, and for a second-level cache.
const BATCH: usize = 2 * (RECORD + OVERHEAD);
/// Records that go out at a time where a crew seals them.
const CREW_RECORDS: usize = 8;
const CREW_BATCH: usize = CREW_RECORDS * (RECORD + OVERHEAD);
/// Largest record that a peer may make (Noise's bound), with its length.
const LARGEST: usize = LEN + u16::MAX as usize;
/// Bytes opened at once where they are taken in pieces.
const ASIDE: usize = 8 * RECORD;
/// Encrypted bytes that come in at a time.
const INBOX: usize = 8 * LARGEST;

/// A connection's records, both ways. Does no I/O.
#[derive(Debug)]
pub struct Records {
    ciphers: Ciphers,
    /// How many records were sealed, and how many opened: the next one's nonce.
    next_out: u64,
    next_in: u64,
    crew: Option<&'static Crew>,
    /// Records to send, and how long they are. Behind them lies a record that is being
    /// filled, with so many bytes that are not sealed yet.
    sealed: Zeroizing<Vec<u8>>,
    sealed_len: usize,
    pending_len: usize,
    /// What came, and what of it is not opened.
    inbox: Zeroizing<Vec<u8>>,
    from: usize,
    to: usize,
    /// Records that a crew opened. What lies behind stays.
    opened: Zeroizing<Vec<u8>>,
    /// What was opened and not taken: in `opened` where there is a crew, else in the
    /// inbox, where it came.
    left: Range<usize>,
}

impl Records {
    /// Goes on where a handshake ended.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn new(secrets: &Secrets) -> Result<Self, SecureError> {
        Ok(Self {
            ciphers: secrets.ciphers(),
            next_out: 0,
            next_in: secrets.received(),
            crew: None,
            sealed: Zeroizing::default(),
            sealed_len: 0,
            pending_len: 0,
            inbox: Zeroizing::default(),
            from: 0,
            to: 0,
            opened: Zeroizing::default(),
            left: 0..0,
        })
    }

    /// From now on a crew helps where there are several records at once.
    pub fn with_crew(mut self, crew: Option<&'static Crew>) -> Self {
        self.crew = crew;
        self
    }

    /// Seals the beginning of `bytes`: as much as there is room for, which is
    /// none when [`sealed`](Self::sealed) has to be sent first. The last bytes
    /// may wait for [`flush`](Self::flush). Returns how many were taken.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn seal(&mut self, bytes: &[u8]) -> Result<usize, SecureError> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_full() {
            if self.crew.is_some() && rest.len() >= RECORD {
                self.flush()?;
                let count = self.room().min(rest.len() / RECORD).max(1);
                let (records, after) = rest.split_at(count * RECORD);
                self.seal_records(records)?;
                rest = after;
                continue;
            }
            // What fills a record begins one.
            if rest.len() >= RECORD {
                self.flush()?;
            }
            let place = self.place();
            let count = rest.len().min(place.len());
            place[..count].copy_from_slice(&rest[..count]);
            self.added(count)?;
            rest = &rest[count..];
        }
        Ok(bytes.len() - rest.len())
    }

    /// The same with bytes that may change meanwhile. Returns whether it took all of
    /// them.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn seal_span(&mut self, span: &mut SendSpan<'_>) -> Result<bool, SecureError> {
        while !self.is_full() {
            let place = self.place();
            let (count, most) = (span.copy_to(place), place.len());
            self.added(count)?;
            if count < most {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rest of the record that is being filled: never empty.
    fn place(&mut self) -> &mut [u8] {
        let at = self.sealed_len + LEN;
        if self.sealed.len() < at + RECORD + TAG {
            // All that is ever needed, so that no bytes stay in memory that it left.
            let most = self.batch() + 3 * (RECORD + OVERHEAD);
            self.sealed.resize(most, 0);
        }
        &mut self.sealed[at + self.pending_len..at + RECORD]
    }

    /// So many bytes were put to the beginning of [`place`](Self::place).
    fn added(&mut self, count: usize) -> Result<(), SecureError> {
        self.pending_len += count;
        match self.pending_len {
            RECORD => self.flush(),
            _ => Ok(()),
        }
    }

    /// Seals what waits.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn flush(&mut self) -> Result<(), SecureError> {
        match self.pending_len {
            0 => Ok(()),
            _ => self.seal_pending(),
        }
    }

    fn seal_pending(&mut self) -> Result<(), SecureError> {
        let number = self.next_out;
        self.next_out = number.checked_add(1).ok_or(SecureError::Exhausted)?;
        let len = self.pending_len + TAG;
        let record = &mut self.sealed[self.sealed_len..][..LEN + len];
        self.pending_len = 0;
        self.sealed_len += record.len();
        match seal_record(&self.ciphers, number, record) {
            true => Ok(()),
            false => Err(SecureError::Exhausted),
        }
    }

    /// Seals all of `bytes`, and has `send` take what is sealed when there is
    /// enough of it. The last bytes may wait for [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`SecureError::Exhausted`], or the sender's.
    pub fn seal_all<E: From<SecureError>>(
        &mut self,
        mut bytes: &[u8],
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            bytes = &bytes[self.seal(bytes)?..];
            if self.is_full() {
                self.send_with(&mut send)?;
            }
        }
        Ok(())
    }

    /// The same with bytes that may change meanwhile.
    ///
    /// # Errors
    /// As [`seal_all`](Self::seal_all).
    pub fn seal_all_of<E: From<SecureError>>(
        &mut self,
        span: &mut SendSpan<'_>,
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let took_all = self.seal_span(span)?;
            if self.is_full() {
                self.send_with(&mut send)?;
            }
            if took_all {
                return Ok(());
            }
        }
    }

    /// Seals what waits, and has `send` take all that is sealed.
    ///
    /// # Errors
    /// As [`seal_all`](Self::seal_all).
    pub fn finish<E: From<SecureError>>(
        &mut self,
        send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.flush()?;
        self.send_with(send)
    }

    fn send_with<E>(&mut self, mut send: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let sent = send(self.sealed());
        self.sent();
        sent
    }

    /// Seals a record without bytes, which proves that this side goes on.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn seal_nothing(&mut self) -> Result<(), SecureError> {
        self.flush()?;
        self.place();
        self.seal_pending()
    }

    /// Seals whole records, with the crew.
    fn seal_records(&mut self, bytes: &[u8]) -> Result<(), SecureError> {
        let count = bytes.len() / RECORD;
        self.place();
        let first = self.next_out;
        self.next_out = first
            .checked_add(count as u64)
            .ok_or(SecureError::Exhausted)?;
        let ciphers = &self.ciphers;
        let seal = |(number, bytes, record): &mut (u64, &[u8], &mut [u8])| {
            record[LEN..][..RECORD].copy_from_slice(bytes);
            seal_record(ciphers, *number, record)
        };
        let records = &mut self.sealed[self.sealed_len..][..count * (RECORD + OVERHEAD)];
        self.sealed_len += records.len();
        let records = records.chunks_mut(RECORD + OVERHEAD);
        let jobs = (first..).zip(bytes.chunks(RECORD)).zip(records);
        let mut jobs = jobs.map(|((n, bytes), record)| (n, bytes, record));
        let sealed = match self.crew.filter(|_| count > 1) {
            Some(crew) => crew.all(&mut jobs.collect::<Vec<_>>(), seal),
            None => jobs.all(|mut job| seal(&mut job)),
        };
        match sealed {
            true => Ok(()),
            false => Err(SecureError::Exhausted),
        }
    }

    /// Whether a crew seals several records at once.
    pub fn has_crew(&self) -> bool {
        self.crew.is_some()
    }

    /// Bytes that are sealed at once where that many are given.
    pub fn at_once(&self) -> usize {
        match self.crew {
            Some(_) => CREW_RECORDS * RECORD,
            None => RECORD,
        }
    }

    /// Whether what is sealed should be sent before more is.
    pub fn is_full(&self) -> bool {
        self.sealed_len >= self.batch()
    }

    fn batch(&self) -> usize {
        match self.crew {
            Some(_) => CREW_BATCH,
            None => BATCH,
        }
    }

    /// Whole records until it is full.
    fn room(&self) -> usize {
        self.batch()
            .saturating_sub(self.sealed_len)
            .div_ceil(RECORD + OVERHEAD)
    }

    /// Records to send.
    pub fn sealed(&self) -> &[u8] {
        &self.sealed[..self.sealed_len]
    }

    /// They were sent.
    pub fn sent(&mut self) {
        let pending = self.sealed_len + LEN;
        let pending = pending..pending + self.pending_len;
        if self.sealed_len > 0 && !pending.is_empty() {
            self.sealed.copy_within(pending, LEN);
        }
        self.sealed_len = 0;
    }

    /// Room for what comes: never empty, if what came was opened.
    pub fn space(&mut self) -> &mut [u8] {
        self.inbox.resize(INBOX, 0);
        if !self.left.is_empty() {
            // It lies in front of what comes, and is taken before more has to come.
        } else if self.from == self.to {
            (self.from, self.to) = (0, 0);
        } else if INBOX - self.from < LARGEST {
            self.inbox.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        &mut self.inbox[self.to..]
    }

    /// So many bytes came, to the beginning of [`space`](Self::space).
    ///
    /// # Panics
    /// If there was no room for them.
    pub fn came(&mut self, count: usize) {
        assert!(count <= self.inbox.len() - self.to, "more than the room");
        self.to += count;
    }

    /// Whether a part of a record came, which cannot be opened yet.
    pub fn has_part(&self) -> bool {
        self.from < self.to
    }

    /// Opens what came, into `out`; returns how many bytes, 0 if more has to
    /// come first or there is no room.
    ///
    /// # Errors
    /// [`SecureError`], once nothing is left before what is wrong; the connection
    /// is of no further use.
    pub fn open(&mut self, out: &mut [u8]) -> Result<usize, SecureError> {
        let mut have = self.take_opened(out);
        while have < out.len() {
            match self.open_next(&mut out[have..]) {
                Ok(Some(count)) => have += count,
                Ok(None) => break,
                // It stays, and is said when nothing is before it.
                Err(_) if have > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(have)
    }

    /// Opens one record, or several at once, as far as there is room; `None` if
    /// more has to come first.
    fn open_next(&mut self, out: &mut [u8]) -> Result<Option<usize>, SecureError> {
        let many = self.open_many(out)?;
        if many > 0 {
            return Ok(Some(many));
        }
        let Some(len) = self.next()? else {
            return Ok(None);
        };
        if len - TAG <= out.len() {
            return self.open_to(len, out).map(Some);
        }
        self.open_aside(len)?;
        Ok(Some(self.take_opened(out)))
    }

    /// Opens what came, and lends up to `most` of it; nothing if more has to
    /// come first.
    ///
    /// # Errors
    /// [`SecureError`]; the connection is of no further use.
    pub fn open_some(&mut self, most: usize) -> Result<&[u8], SecureError> {
        while self.left.is_empty() {
            if self.open_many_aside()? {
                continue;
            }
            let Some(len) = self.next()? else { break };
            self.open_aside(len)?;
        }
        let begin = self.left.start;
        self.left.start += self.left.len().min(most);
        let end = self.left.start;
        Ok(&self.opened_here()[begin..end])
    }

    /// Where [`left`](Self::left) lies.
    fn opened_here(&self) -> &[u8] {
        match self.crew {
            Some(_) => &self.opened,
            None => &self.inbox,
        }
    }

    /// Opens several records at once, to be taken in pieces; whether it did.
    fn open_many_aside(&mut self) -> Result<bool, SecureError> {
        if self.crew.is_none() {
            return Ok(false);
        }
        let mut opened = std::mem::take(&mut self.opened);
        opened.resize(ASIDE, 0);
        let count = self.open_many(&mut opened);
        (self.opened, self.left) = (opened, 0..count.unwrap_or(0));
        count.map(|count| count > 0)
    }

    /// Opens what came whole and fits, if there is a crew and it is more than
    /// one record; returns how many bytes.
    fn open_many(&mut self, out: &mut [u8]) -> Result<usize, SecureError> {
        let Some(crew) = self.crew else {
            return Ok(0);
        };
        let (mut at, mut rest, mut jobs) = (self.from, out, Vec::new());
        while let Some(len) = self.record_at(at)?
            && let Some((to, after)) = std::mem::take(&mut rest).split_at_mut_checked(len - TAG)
        {
            let record = &self.inbox[at + LEN..at + LEN + len];
            jobs.push((self.next_in + jobs.len() as u64, record, to));
            (at, rest) = (at + LEN + len, after);
        }
        if jobs.len() < 2 {
            return Ok(0);
        }
        let ciphers = &self.ciphers;
        let opened = crew.all(&mut jobs, |(nonce, record, to)| {
            ciphers.open(*nonce, record, to)
        });
        let count = jobs.iter().map(|job| job.2.len()).sum();
        if !opened {
            return Err(SecureError::Forged);
        }
        self.next_in += jobs.len() as u64;
        self.from = at;
        Ok(count)
    }

    /// Opens the next record, to be taken in pieces.
    fn open_aside(&mut self, len: usize) -> Result<(), SecureError> {
        if self.crew.is_none() {
            return self.open_here(len);
        }
        let mut opened = std::mem::take(&mut self.opened);
        let room = opened.len().max(len - TAG);
        opened.resize(room, 0);
        let count = self.open_to(len, &mut opened);
        (self.opened, self.left) = (opened, 0..count.unwrap_or(0));
        count.map(|_| ())
    }

    /// Opens the next record where it came.
    fn open_here(&mut self, len: usize) -> Result<(), SecureError> {
        let at = self.from + LEN;
        let record = &mut self.inbox[at..at + len];
        if !self.ciphers.open_in_place(self.next_in, record) {
            return Err(SecureError::Forged);
        }
        self.next_in += 1;
        self.from = at + len;
        self.left = at..at + len - TAG;
        Ok(())
    }

    fn take_opened(&mut self, out: &mut [u8]) -> usize {
        let count = self.left.len().min(out.len());
        let end = self.left.start + count;
        out[..count].copy_from_slice(&self.opened_here()[self.left.start..end]);
        self.left.start = end;
        count
    }

    /// Bytes of the next record, tag included, if all of it came.
    fn next(&self) -> Result<Option<usize>, SecureError> {
        self.record_at(self.from)
    }

    fn record_at(&self, at: usize) -> Result<Option<usize>, SecureError> {
        let came = &self.inbox[at..self.to];
        let Some((len, rest)) = came.split_first_chunk::<LEN>() else {
            return Ok(None);
        };
        let len = usize::from(u16::from_le_bytes(*len));
        match len {
            ..TAG => Err(SecureError::Short(len)),
            _ => Ok((len <= rest.len()).then_some(len)),
        }
    }

    fn open_to(&mut self, len: usize, out: &mut [u8]) -> Result<usize, SecureError> {
        let at = self.from + LEN;
        let record = &self.inbox[at..at + len];
        if !self.ciphers.open(self.next_in, record, out) {
            return Err(SecureError::Forged);
        }
        // What is forged stays, so that nothing behind it is ever opened.
        self.next_in += 1;
        self.from = at + len;
        Ok(len - TAG)
    }
}

/// Seals a record that is whole but for its length and tag.
fn seal_record(ciphers: &Ciphers, number: u64, record: &mut [u8]) -> bool {
    let (len, sealed) = record.split_at_mut(LEN);
    let count = u16::try_from(sealed.len()).expect("RECORD is below Noise's bound");
    len.copy_from_slice(&count.to_le_bytes());
    ciphers.seal(number, sealed)
}

#[cfg(test)]
mod tests {
    use super::super::handshake::tests::pair;
    use super::*;
    use proptest::prelude::*;
    use std::sync::OnceLock;

    /// Both ends of a connection; a crew helps one, both or none.
    fn helped(host: bool, board: bool) -> (Records, Records) {
        static CREW: OnceLock<Option<Crew>> = OnceLock::new();
        let crew = CREW.get_or_init(|| Crew::new(2)).as_ref();
        let (ours, theirs) = pair();
        (
            ours.with_crew(crew.filter(|_| host)),
            theirs.with_crew(crew.filter(|_| board)),
        )
    }

    /// Everything that was sealed, as it goes over the line.
    fn line(records: &mut Records, pieces: &[Vec<u8>]) -> Vec<u8> {
        let mut line = Vec::new();
        for piece in pieces {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                rest = &rest[records.seal(rest).unwrap()..];
                line.extend_from_slice(records.sealed());
                records.sent();
            }
        }
        records.flush().unwrap();
        line.extend_from_slice(records.sealed());
        records.sent();
        line
    }

    /// The same, as [`Records::open_some`] lends it.
    fn lent(records: &mut Records, line: &[u8], most: usize) -> Result<Vec<u8>, SecureError> {
        let mut out = Vec::new();
        for piece in line.chunks(60_000) {
            records.space()[..piece.len()].copy_from_slice(piece);
            records.came(piece.len());
            loop {
                let some = records.open_some(most)?;
                assert!(some.len() <= most);
                if some.is_empty() {
                    break;
                }
                out.extend_from_slice(some);
            }
        }
        Ok(out)
    }

    /// What comes out if `line` comes in pieces of these lengths and is taken
    /// in pieces of `take` bytes.
    fn opened(
        records: &mut Records,
        mut line: &[u8],
        lens: &[usize],
        take: usize,
    ) -> Result<Vec<u8>, SecureError> {
        let (mut out, mut lens) = (Vec::new(), lens.iter().cycle());
        let mut room = vec![0; take];
        loop {
            let count = records.open(&mut room)?;
            out.extend_from_slice(&room[..count]);
            if count == 0 && line.is_empty() {
                return Ok(out);
            }
            if count == 0 {
                let space = records.space();
                assert!(!space.is_empty());
                let len = line.len().min(space.len()).min(*lens.next().unwrap());
                space[..len].copy_from_slice(&line[..len]);
                records.came(len);
                line = &line[len..];
            }
        }
    }

    #[test]
    fn bulk_data_crosses_in_batches() {
        let data: Vec<u8> = (0..700_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        for (ours, theirs) in [(false, false), (true, false), (false, true), (true, true)] {
            let (mut host, mut board) = helped(ours, theirs);
            // Records of other lengths before and behind.
            let pieces = [b"head".to_vec(), data.clone(), b"next".to_vec()];
            let line = line(&mut host, &pieces);
            assert!(line.len() < data.len() + data.len() / 1000);
            for take in [1 << 16, 1 << 20] {
                let (mut host, mut board) = helped(ours, theirs);
                let line = self::line(&mut host, &pieces);
                let out = opened(&mut board, &line, &[1 << 20, 1 << 17], take).unwrap();
                assert!(out == pieces.concat(), "{ours} {theirs} {take}");
            }
            assert!(lent(&mut board, &line, RECORD).unwrap() == pieces.concat());
        }
    }

    #[test]
    fn a_crew_finds_what_was_changed_or_swapped() {
        let sealed = RECORD + OVERHEAD;
        for at in [LEN, 3 * sealed + 100, 8 * sealed - 1] {
            let (mut host, mut board) = helped(true, true);
            let mut line = line(&mut host, &[vec![5; 8 * RECORD]]);
            line[at] ^= 1;
            let out = opened(&mut board, &line, &[1 << 20], 1 << 20);
            assert_eq!(out, Err(SecureError::Forged));
            // And again, by who asks again.
            assert_eq!(board.open(&mut vec![0; 1 << 20]), Err(SecureError::Forged));
        }
        let (mut host, mut board) = helped(true, true);
        let mut line = line(&mut host, &[vec![5; 8 * RECORD]]);
        line.rotate_left(sealed);
        let out = opened(&mut board, &line, &[1 << 20], 1 << 20);
        assert_eq!(out, Err(SecureError::Forged));
    }

    #[test]
    fn a_batch_is_taken_before_it_has_to_be_sent() {
        const SEALED: usize = 32_786;
        for (is_helped, records) in [(false, 2), (true, 8)] {
            let (mut host, _) = helped(is_helped, false);
            assert!(!host.is_full());
            assert_eq!(host.seal(&[5; 1 << 20]), Ok(records * 32_768));
            assert_eq!(host.sealed().len(), records * SEALED);
            assert!(host.is_full());
            assert_eq!(host.seal(b"more"), Ok(0));
            host.sent();
            assert_eq!(host.seal(b"more"), Ok(4));
            let at_once = if is_helped { 262_144 } else { 32_768 };
            assert_eq!(host.at_once(), at_once);
            let (mut host, _) = helped(is_helped, false);
            let almost = vec![5; records * RECORD - 1];
            assert_eq!(host.seal(&almost), Ok(almost.len()));
            host.flush().unwrap();
            assert_eq!(host.sealed().len(), records * SEALED - 1);
            assert!(!host.is_full());
        }
    }

    #[test]
    fn a_few_bytes_wait_until_they_fill_a_record_or_are_flushed() {
        // With a crew more records lie there before they have to be sent.
        let (mut host, _) = helped(true, false);
        let mut sealed_behind = |bytes: &[u8], flush: bool| {
            assert_eq!(host.seal(bytes), Ok(bytes.len()));
            if flush {
                host.flush().unwrap();
            }
            host.sealed().len()
        };
        assert_eq!(sealed_behind(b"ab", false), 0);
        assert_eq!(sealed_behind(b"cd", true), 4 + OVERHEAD);
        let before = 4 + OVERHEAD;
        assert_eq!(sealed_behind(&[5; RECORD - 1], false), before);
        let before = before + RECORD + OVERHEAD;
        assert_eq!(sealed_behind(&[5], false), before);
        // What does not fit into a record begins the next one.
        assert_eq!(sealed_behind(&[5; RECORD - 1], false), before);
        let before = before + RECORD + OVERHEAD;
        assert_eq!(sealed_behind(&[5; 100], false), before);
        assert_eq!(sealed_behind(&[], true), before + 99 + OVERHEAD);
    }

    #[test]
    fn what_a_crew_opened_is_lent_in_one_piece() {
        for count in [1, 2, 8, 12] {
            let (mut host, mut board) = helped(false, true);
            let line = line(&mut host, &[vec![5; count * RECORD]]);
            board.space()[..line.len()].copy_from_slice(&line);
            board.came(line.len());
            // Eight at a time.
            for piece in [count.min(8), count.saturating_sub(8)] {
                let lent = board.open_some(usize::MAX).unwrap().len();
                assert_eq!(lent, piece * RECORD);
            }
        }
    }

    /// The largest record that a peer may make.
    const FULL: usize = 65_537;

    /// A record of so many bytes, length and tag included, as a peer may make it.
    fn made(host: &Records, nonce: u64, len: usize) -> Vec<u8> {
        let mut record = vec![0; len];
        record[LEN..len - TAG].fill(nonce as u8);
        assert!(seal_record(&host.ciphers, nonce, &mut record));
        record
    }

    #[test]
    fn the_largest_record_has_room_wherever_it_begins() {
        for left in FULL - 8..=FULL {
            let (host, mut board) = pair();
            let room = board.space().len();
            assert_eq!(room, 8 * FULL);
            // Six that are as large, two that leave less than one has to have.
            let before = room - left - 6 * FULL;
            let lens = [[FULL; 6].as_slice(), &[100, before - 100, FULL, 50]].concat();
            let made = (0..).zip(&lens).map(|(n, len)| self::made(&host, n, *len));
            let line = made.collect::<Vec<_>>().concat();
            let first = room - left + 1;
            let out = opened(&mut board, &line, &[first, room], 1 << 20).unwrap();
            assert_eq!(out.len(), line.len() - lens.len() * OVERHEAD);
            assert!(out.ends_with(&[9; 32]));
        }
    }

    #[test]
    fn a_part_of_a_record_is_one_until_the_rest_comes() {
        let (mut host, mut board) = pair();
        let line = line(&mut host, &[b"one".to_vec()]);
        assert_eq!(opened(&mut board, &line[..5], &[64], 100), Ok(Vec::new()));
        assert!(board.has_part());
        assert_eq!(
            opened(&mut board, &line[5..], &[64], 100),
            Ok(b"one".to_vec())
        );
        assert!(!board.has_part());
    }

    #[test]
    fn short_records_are_none() {
        let (_, mut board) = pair();
        board.space()[..2].copy_from_slice(&[15, 0]);
        board.came(2);
        assert_eq!(board.open(&mut [0]), Err(SecureError::Short(15)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_stream_comes_out_as_it_went_in(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 0..20),
            lens in prop::collection::vec(1usize..4000, 1..9),
            take in 1usize..9000,
            crews: [bool; 2],
        ) {
            let (mut host, mut board) = helped(crews[0], crews[1]);
            let line = line(&mut host, &pieces);
            let out = opened(&mut board, &line, &lens, take);
            prop_assert_eq!(out, Ok(pieces.concat()));
            prop_assert!(!board.has_part());
            let line = self::line(&mut host, &pieces);
            prop_assert_eq!(lent(&mut board, &line, take), Ok(pieces.concat()));
        }

        #[test]
        fn a_changed_byte_is_found(at: prop::sample::Index, bit in 0u8..8) {
            let (mut host, mut board) = pair();
            let mut line = line(&mut host, &[vec![5; 3000]]);
            let at = at.index(line.len());
            line[at] ^= 1 << bit;
            // A longer length waits for bytes that never come.
            if let Ok(out) = opened(&mut board, &line, &[1 << 16], 5000) {
                prop_assert!(at < LEN && out.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_refused_or_waited_for(bytes: Vec<u8>) {
            let (_, mut board) = pair();
            let out = opened(&mut board, &bytes, &[64], 100);
            prop_assert!(out.is_err() || out == Ok(Vec::new()));
        }

        #[test]
        fn repeated_and_swapped_records_are_found(swap: bool) {
            let (mut host, mut board) = pair();
            let one = line(&mut host, &[b"one".to_vec()]);
            let two = line(&mut host, &[b"two".to_vec()]);
            let line = if swap { [two, one] } else { [one.clone(), one] };
            let out = opened(&mut board, &line.concat(), &[64], 100);
            prop_assert_eq!(out, Err(SecureError::Forged));
        }
    }
}
