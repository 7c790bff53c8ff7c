//! Reads a log of calls, block by block.

use super::columns::Decoder;
use super::mapped::MappedFiles;
pub use super::mapped::Place;
use super::{
    BLOCK_MAX, Begun, Block, FILE, Files, Finished, LABELS_MAX, Labels, ROWS_MAX, Record, Row,
};
use crate::container::{self, FileError, HEADER_LEN, ReadError, Stored};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Why a log of calls cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// The file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The header is short.
    #[error("the file ends within its header")]
    Header,
    /// A block of other rows than it says.
    #[error("a block's columns are not those of its {0} rows")]
    Rows(u32),
    /// A block that no gil writes.
    #[error("a block of {0} rows exceeds the bound of {ROWS_MAX}")]
    Long(u32),
    /// Something else is in front.
    #[error("the log does not begin with how it began")]
    Order,
    /// The last record counts other rows.
    #[error("the log ends after {found} rows and says that there are {said}")]
    Count {
        /// That were read.
        found: u64,
        /// That there should be.
        said: u64,
    },
}

impl From<FileError> for CallsError {
    fn from(error: FileError) -> Self {
        Self::Read(error.into())
    }
}

impl CallsError {
    /// Whether the file is sound as far as it goes: what wrote it was ended.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Read(ReadError::Cut))
    }
}

/// A log being read: of a run of any length it holds one block.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    begun: Option<Begun>,
    names: BTreeMap<u32, (String, String)>,
    engines: BTreeMap<(u16, u8), String>,
    labels: BTreeMap<u32, String>,
    mapped: MappedFiles,
    files: BTreeMap<String, String>,
    rows: u64,
    finished: Option<Finished>,
}

impl<R: Read> Reader<R> {
    /// Reads the header, and how the log began.
    ///
    /// # Errors
    /// [`CallsError`] if this is no log of calls.
    pub fn new(mut file: R) -> Result<Self, CallsError> {
        let mut header = [0; HEADER_LEN];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(CallsError::Header);
            }
            read => read.map_err(ReadError::from)?,
        }
        FILE.check_header(&header)?;
        let mut reader = Self {
            file,
            begun: None,
            names: BTreeMap::new(),
            engines: BTreeMap::new(),
            labels: BTreeMap::new(),
            mapped: MappedFiles::default(),
            files: BTreeMap::new(),
            rows: 0,
            finished: None,
        };
        // A run that died at once left no more than the header.
        if let Some((stored, _)) = reader.record()? {
            match stored.record()? {
                Some(Record::Begun(begun)) => reader.begun = Some(begun),
                _ => return Err(CallsError::Order),
            }
        }
        Ok(reader)
    }

    /// How the log began; none if it ended at once.
    pub fn begun(&self) -> Option<&Begun> {
        self.begun.as_ref()
    }

    /// How it ended; none before its end, and if the run died.
    pub fn finished(&self) -> Option<&Finished> {
        self.finished.as_ref()
    }

    /// An entry point's API and name, of one that a row had.
    pub fn name(&self, op: u32) -> (&str, &str) {
        let known = self.names.get(&op);
        known.map_or(("unknown", "unknown"), |(api, name)| (api, name))
    }

    /// An engine's name, of one that a row of this API had.
    pub fn engine(&self, api: u16, engine: u8) -> &str {
        self.engines.get(&(api, engine)).map_or("none", |name| name)
    }

    /// A label, of one that a row had.
    pub fn label(&self, number: u32) -> Option<&str> {
        self.labels.get(&number).map(String::as_str)
    }

    /// The file of the guest's that a process executes at an address, and the offset there.
    pub fn place(&self, process: u32, at: u64) -> Option<Place<'_>> {
        self.mapped.place(process, at)
    }

    /// Where a file of the guest's is on the machine of the run. Known at the end.
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    fn label_all(&mut self, labels: Vec<(u32, String)>) {
        self.labels.extend(labels);
        while self.labels.len() > LABELS_MAX {
            self.labels.pop_last();
        }
    }

    /// The next rows; none at the end of the file.
    ///
    /// # Errors
    /// [`CallsError`]; what came before stands.
    pub fn rows(&mut self) -> Result<Option<Vec<Row>>, CallsError> {
        while let Some((stored, payload)) = self.record()? {
            match stored.record()? {
                Some(Record::Block(block)) => return self.block(block, &payload).map(Some),
                Some(Record::Finished(finished)) => self.finish(finished)?,
                Some(Record::Begun(_)) => return Err(CallsError::Order),
                Some(Record::Labels(Labels { labels })) => self.label_all(labels),
                Some(Record::Mapped(mapped)) => self.mapped.add(mapped),
                Some(Record::Files(Files { files })) => self.files.extend(files),
                None => {}
            }
        }
        Ok(None)
    }

    fn record(&mut self) -> Result<Option<(Stored, Vec<u8>)>, CallsError> {
        let mut bytes = Bounded(Vec::new());
        let Some(stored) = container::read(&mut self.file, &mut bytes)? else {
            return Ok(None);
        };
        if stored.prefix().payload_len > BLOCK_MAX {
            return Err(ReadError::from(too_long()).into());
        }
        let payload = stored.unpack(bytes.0)?;
        Ok(Some((stored, payload)))
    }

    fn block(&mut self, block: Block, mut payload: &[u8]) -> Result<Vec<Row>, CallsError> {
        if block.rows as usize > ROWS_MAX {
            return Err(CallsError::Long(block.rows));
        }
        let of_rows = || CallsError::Rows(block.rows);
        let mut decoder = Decoder::new(block.rows as usize);
        for column in &block.columns {
            let split = payload.split_at_checked(column.bytes as usize);
            let (own, rest) = split.ok_or_else(of_rows)?;
            payload = rest;
            let decoded = decoder.column(column.number, own);
            let is_whole = decoded.map_err(|error| FileError::Decode { kind: 2, error })?;
            is_whole.then_some(()).ok_or_else(of_rows)?;
        }
        let names = block.names.into_iter();
        self.names
            .extend(names.map(|named| (named.op, (named.api, named.name))));
        let engines = block.engines.into_iter();
        self.engines
            .extend(engines.map(|named| ((named.api, named.engine), named.name)));
        self.rows += u64::from(block.rows);
        decoder.rows().ok_or_else(of_rows)
    }

    fn finish(&mut self, finished: Finished) -> Result<(), CallsError> {
        let (found, said) = (self.rows, finished.rows);
        if found != said {
            return Err(CallsError::Count { found, said });
        }
        self.finished = Some(finished);
        Ok(())
    }
}

/// Takes as many bytes as a block has.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BLOCK_MAX as usize {
            return Err(too_long());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("a block has more than {BLOCK_MAX} bytes"))
}
