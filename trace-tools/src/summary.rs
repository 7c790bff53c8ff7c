//! `gil trace ls`: what a recording holds.

use crate::text::{api_name, bytes, counted, or_none, shown, table, time};
use crate::{Trace, TraceError};
use gil_files::recording::{Called, Device, FILE, Record, SessionOpened};
use gil_wire::api;
use gil_wire::message::Report;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most devices that are listed.
const DEVICES_MAX: usize = 1024;

/// What a recording holds.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The layout of the file.
    pub version: u32,
    /// Bytes of its header and its whole records.
    pub bytes: u64,
    /// Its whole records.
    pub records: u64,
    /// Those of them whose payload is compressed.
    pub compressed_records: u64,
    /// Why it ends before the file does, if it does, and what to do.
    pub rest: Option<String>,
    /// In the order in which they were opened.
    pub sessions: Vec<SessionSummary>,
    /// What boards said of their devices, the first 1,024.
    pub devices: Vec<DeviceSummary>,
}

/// What a session did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionSummary {
    /// Its number, from 1.
    pub session: u64,
    /// The guest's process.
    pub process: u32,
    /// Width of its pointers.
    pub pointer_bits: u32,
    /// The APIs that the board served, by their names in options.
    pub served: Vec<String>,
    /// Those that this gil describes in another way: it cannot replay them.
    pub other_descriptions: Vec<String>,
    /// Whether its end is recorded.
    pub closed: bool,
    /// What it did.
    #[serde(flatten)]
    pub totals: Totals,
}

/// What calls and operations came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Calls that were answered, or were to be, by API.
    pub calls: BTreeMap<String, u64>,
    /// Calls without an answer.
    pub posts: u64,
    /// Operations that ended.
    pub operations: u64,
    /// Bytes of arguments and input.
    pub bytes_to_board: u64,
    /// Bytes of results and output.
    pub bytes_from_board: u64,
    /// What operations took on the device.
    pub gpu_ns: u64,
    /// What the API's functions took on the board's CPU.
    pub board_cpu_ns: u64,
}

/// What a board said of a device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceSummary {
    /// The session to which it said so.
    pub session: u64,
    /// The API, by its name in options.
    pub api: String,
    /// The device's number in the session.
    pub device: u64,
    /// Its UUID, in hexadecimal.
    pub uuid: Option<String>,
    /// Where it is on the PCI bus.
    pub pci: Option<String>,
    /// Its place on its machine.
    pub place: Option<String>,
}

impl Summary {
    /// Reads a recording to its end.
    ///
    /// # Errors
    /// [`TraceError`], but not for an end that is not whole: that is in the summary.
    pub fn of(trace: &mut Trace) -> Result<Self, TraceError> {
        let mut summary = Self {
            version: FILE.version,
            ..Self::default()
        };
        trace.each(|_, entry, record| {
            summary.compressed_records += u64::from(entry.is_compressed());
            summary.add(entry.session, &record);
            Ok(())
        })?;
        summary.records = trace.records();
        summary.bytes = trace.bytes();
        summary.rest = trace.rest().map(ToString::to_string);
        Ok(summary)
    }

    fn add(&mut self, number: u64, record: &Record<'_>) {
        if let Record::SessionOpened(opened) = record {
            self.sessions.push(SessionSummary::opened(number, opened));
            return;
        }
        let place = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let Some(session) = place.and_then(|place| self.sessions.get_mut(place)) else {
            return;
        };
        match record {
            Record::Call(called) => session.totals.called(called),
            Record::Ended(ended) => session.totals.ended(&ended.report),
            Record::SessionClosed(_) => session.closed = true,
            Record::Device(device) => self.device(number, device),
            Record::SessionOpened(_) | Record::Posted(_) => {}
        }
    }

    fn device(&mut self, session: u64, device: &Device) {
        if self.devices.len() < DEVICES_MAX {
            self.devices.push(DeviceSummary::of(session, device));
        }
    }

    /// As a table, for people.
    pub fn table(&self) -> String {
        let compressed = match self.compressed_records {
            0 => "not compressed".into(),
            some => format!("{} compressed", counted(some, "record", "records")),
        };
        let (records, size) = (
            counted(self.records, "record", "records"),
            bytes(self.bytes),
        );
        let layout = self.version;
        let mut text = format!("recording of layout {layout}: {records}, {size}, {compressed}; ");
        match &self.rest {
            None => text += "its end is whole\n",
            Some(_) => text += "its end is not whole\n",
        }
        if !self.sessions.is_empty() {
            text.push('\n');
            text += &self.session_table();
        }
        self.other_descriptions(&mut text);
        if !self.devices.is_empty() {
            text.push('\n');
            self.device_lines(&mut text);
        }
        text
    }

    /// A line for each device, however many sessions asked for it.
    fn device_lines(&self, text: &mut String) {
        let mut lines: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for device in &self.devices {
            let line = lines.entry(device.line());
            let again = line.and_modify(|(_, more)| *more += 1);
            again.or_insert((device.session, 0));
        }
        for (line, (session, more)) in lines {
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let _ = writeln!(text, "session {session}{more}, {line}");
        }
    }

    fn session_table(&self) -> String {
        let mut rows: Vec<_> = self.sessions.iter().map(SessionSummary::row).collect();
        if self.sessions.len() > 1 {
            let mut all = Totals::default();
            self.sessions.iter().for_each(|it| all.add(&it.totals));
            let front = ["all", "", "", ""].map(str::to_owned);
            rows.push(front.into_iter().chain(all.row()).collect());
        }
        table(HEADER, rows)
    }

    fn other_descriptions(&self, text: &mut String) {
        for session in &self.sessions {
            for api in &session.other_descriptions {
                let _ = writeln!(
                    text,
                    "session {} was recorded with another description of {api}: replay it with the gil that made it",
                    session.session
                );
            }
        }
    }
}

const HEADER: &[&str] = &[
    "session",
    "process",
    "pointers",
    "end",
    "calls",
    "posts",
    "operations",
    "to the board",
    "from it",
    "GPU time",
    "board's CPU",
];

impl SessionSummary {
    fn opened(session: u64, opened: &SessionOpened) -> Self {
        let known = |number: u16| api::api(number).is_some();
        let differs = |number: u16| known(number) && api::check(number, &opened.apis).is_err();
        let mut numbers: Vec<_> = opened.apis.iter().map(|api| api.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        // A file may name more than there are.
        numbers.truncate(SERVED_MAX);
        let names = |numbers: &[u16]| numbers.iter().map(|&number| api_name(number)).collect();
        let others: Vec<_> = numbers.iter().copied().filter(|&it| differs(it)).collect();
        Self {
            session,
            process: opened.process,
            pointer_bits: opened.pointer_bits,
            served: names(&numbers),
            other_descriptions: names(&others),
            ..Self::default()
        }
    }

    fn row(&self) -> Vec<String> {
        let end = if self.closed { "closed" } else { "open" };
        let own = [
            self.session.to_string(),
            self.process.to_string(),
            format!("{} bits", self.pointer_bits),
            end.into(),
        ];
        own.into_iter().chain(self.totals.row()).collect()
    }
}

/// Most APIs of a session that are listed.
const SERVED_MAX: usize = 16;
/// The name of APIs that this gil does not know.
const OTHERS: &str = "others";

impl Totals {
    fn called(&mut self, called: &Called<'_>) {
        let call = &called.call;
        if call.answer {
            let name = api::api(call.op.api()).map_or(OTHERS, |api| api.name);
            *self.calls.entry(name.into()).or_default() += 1;
        } else {
            self.posts += 1;
        }
        let (to, from) = call_bytes(called);
        self.bytes_to_board = self.bytes_to_board.saturating_add(to);
        self.bytes_from_board = self.bytes_from_board.saturating_add(from);
        if let Some(done) = &called.done {
            self.board_cpu_ns = self.board_cpu_ns.saturating_add(done.cpu_ns);
            done.reports.iter().for_each(|report| self.ended(report));
        }
    }

    fn ended(&mut self, report: &Report) {
        self.operations += 1;
        self.gpu_ns = self.gpu_ns.saturating_add(report.duration_ns);
        let bytes = report.payload_len().unwrap_or(0);
        self.bytes_from_board = self.bytes_from_board.saturating_add(bytes);
    }

    fn add(&mut self, other: &Self) {
        for (api, count) in &other.calls {
            *self.calls.entry(api.clone()).or_default() += count;
        }
        let sum = |own: &mut u64, theirs: u64| *own = own.saturating_add(theirs);
        sum(&mut self.posts, other.posts);
        sum(&mut self.operations, other.operations);
        sum(&mut self.bytes_to_board, other.bytes_to_board);
        sum(&mut self.bytes_from_board, other.bytes_from_board);
        sum(&mut self.gpu_ns, other.gpu_ns);
        sum(&mut self.board_cpu_ns, other.board_cpu_ns);
    }

    fn row(&self) -> [String; 7] {
        let calls = self.calls.iter();
        let calls: Vec<_> = calls.map(|(api, count)| format!("{count} {api}")).collect();
        let calls = (!calls.is_empty()).then(|| calls.join(", "));
        [
            or_none(calls),
            self.posts.to_string(),
            self.operations.to_string(),
            bytes(self.bytes_to_board),
            bytes(self.bytes_from_board),
            time(self.gpu_ns),
            time(self.board_cpu_ns),
        ]
    }
}

/// Bytes of a call's arguments and input, and of its own result and output.
pub(crate) fn call_bytes(called: &Called<'_>) -> (u64, u64) {
    let sum = |first: usize, lens: &mut dyn Iterator<Item = u64>| {
        lens.fold(first as u64, u64::saturating_add)
    };
    let call = &called.call;
    let ins = call.regions.iter().filter(|region| region.dir.is_in());
    let to = sum(call.args.len(), &mut ins.map(|region| region.len));
    let from = called.done.as_ref().map_or(0, |done| {
        sum(done.result.len(), &mut done.out.iter().copied())
    });
    (to, from)
}

impl DeviceSummary {
    fn of(session: u64, device: &Device) -> Self {
        let identity = device.identity.as_ref();
        let hex = |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            session,
            api: api_name(device.api),
            device: device.device,
            uuid: identity.and_then(|it| it.uuid).map(hex),
            pci: identity.and_then(|it| it.pci).map(|pci| {
                let (domain, bus) = (pci.domain, pci.bus);
                format!("{domain:04x}:{bus:02x}:{:02x}.{}", pci.device, pci.function)
            }),
            place: identity.map(|it| shown(&it.place)),
        }
    }

    pub(crate) fn words(device: &Device) -> String {
        Self::of(0, device).identity()
    }

    fn identity(&self) -> String {
        let Some(place) = &self.place else {
            return "not known to the board".into();
        };
        let uuid = self.uuid.as_ref().map(|uuid| format!(", UUID {uuid}"));
        let pci = self.pci.as_ref().map(|pci| format!(", PCI {pci}"));
        format!(
            "{place}{}{}",
            uuid.unwrap_or_default(),
            pci.unwrap_or_default()
        )
    }

    fn line(&self) -> String {
        let (api, device) = (&self.api, self.device);
        let identity = self.identity();
        format!("{api} device {device:#x}: {identity}")
    }
}
