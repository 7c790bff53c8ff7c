//! All sessions in a checkpoint, and back.

use super::State;
use crate::checkpoint::{CheckpointError, Reader, Stored, Writer};
use crate::gpu::{self, SavedError};
use crate::memory::GuestMemory;
use crate::session::{Context, Session, Took};
use gil_files::checkpoint::{self, Begin, Record};
use gil_wire::identity::DeviceInfo;
use std::path::Path;

impl State {
    /// Runs `body` with each session, in the order of their numbers.
    fn each_session<T>(
        &mut self,
        memory: &dyn GuestMemory,
        mut body: impl FnMut(u64, &mut Session, &mut Context<'_>) -> T,
    ) -> Vec<T> {
        let mut numbers: Vec<u64> = self.sessions.keys().copied().collect();
        numbers.sort_unstable();
        let mut all = Vec::new();
        for number in numbers {
            let Some(mut session) = self.sessions.remove(&number) else {
                continue;
            };
            all.push(body(number, &mut session, &mut self.context(memory)));
            self.sessions.insert(number, session);
        }
        all
    }

    fn context<'a>(&'a mut self, memory: &'a dyn GuestMemory) -> Context<'a> {
        Context {
            memory,
            time: self.time,
            finish: self.finish,
            stats: &mut self.stats,
            trace: &mut self.trace,
            calls: &mut self.calls,
            works: &mut self.works,
            events: &mut self.events,
            devices: &mut self.devices,
            others: &mut self.sessions,
            took: Took::default(),
        }
    }

    pub(super) fn settle(&mut self, now_ns: u64) -> u64 {
        let Some(memory) = self.memory.take() else {
            return 0;
        };
        let ends = self.each_session(&*memory, |_, session, context| {
            session.settle_all(context, now_ns)
        });
        self.memory = Some(memory);
        ends.into_iter().max().unwrap_or(0)
    }

    pub(super) fn checkpoint(&mut self, path: &Path, now_ns: u64) -> Result<(), CheckpointError> {
        let Some(memory) = self.memory.take() else {
            return write(path, |writer| {
                let devices = Vec::new();
                writer.write(&Record::Begin(Begin { devices }), &[])
            });
        };
        let saved = write(path, |writer| self.save(&*memory, writer, now_ns));
        self.memory = Some(memory);
        saved
    }

    fn save(
        &mut self,
        memory: &dyn GuestMemory,
        writer: &mut Writer,
        now_ns: u64,
    ) -> Result<(), CheckpointError> {
        let programs = |it: &(&u64, &Session)| *it.0 != gpu::SESSION;
        let sessions = self.sessions.iter().filter(programs);
        let quiet = sessions.map(|(_, session)| session.check_quiet(now_ns));
        quiet.collect::<Result<(), _>>()?;
        let mut sessions = self.sessions.values_mut();
        let devices = sessions.find_map(Session::devices).transpose()?;
        let devices = devices.unwrap_or_default();
        writer.write(&Record::Begin(Begin { devices }), &[])?;
        if let Some(gpu) = &self.gpu {
            let state = gpu.save()?;
            let (gpu, len) = (gpu.gpu().name().into(), state.len() as u64);
            writer.write(&Record::Gpu(checkpoint::Gpu { gpu, len }), &[&state])?;
        }
        let saved = self.each_session(memory, |number, session, _| match number {
            gpu::SESSION => Ok(()),
            _ => session.save(number, writer),
        });
        saved.into_iter().collect()
    }

    fn restore_gpu(
        &mut self,
        saved: &checkpoint::Gpu,
        reader: &Reader,
        stored: &Stored,
    ) -> Result<(), CheckpointError> {
        let found = self.gpu.as_mut().filter(|it| it.gpu().name() == saved.gpu);
        let Some(gpu) = found else {
            let saved = saved.gpu.clone();
            let found = self.gpu.as_ref().map(|it| it.gpu());
            return Err(SavedError::Other { saved, found }.into());
        };
        Ok(gpu.restore(&reader.bytes(stored)?)?)
    }

    pub(super) fn restore(&mut self, path: &Path) -> Result<(), CheckpointError> {
        if !self.sessions.is_empty() {
            return Err(CheckpointError::NotEmpty(self.sessions.len()));
        }
        let memory = self.memory.take().ok_or(CheckpointError::NoMemory)?;
        let restored = self.restore_from(&*memory, path);
        if restored.is_err() {
            self.sessions.clear();
        }
        self.memory = Some(memory);
        restored
    }

    fn restore_from(
        &mut self,
        memory: &dyn GuestMemory,
        path: &Path,
    ) -> Result<(), CheckpointError> {
        // Nothing is made of a file that is damaged at its end.
        Reader::open(path)?.check()?;
        let mut reader = Reader::open(path)?;
        let devices = begin(&mut reader)?;
        let mut open: Option<(u64, Session)> = None;
        while let Some(stored) = reader.next()? {
            let record = stored.record().map_err(|error| reader.damaged(error))?;
            if let Record::Gpu(saved) = &record {
                self.restore_gpu(saved, &reader, &stored)?;
                continue;
            }
            let Record::Session(saved) = record else {
                let Some((_, session)) = &mut open else {
                    return Err(reader.not_whole());
                };
                session.restore(&mut self.context(memory), &reader, &stored)?;
                continue;
            };
            self.sessions.extend(open.take());
            if saved.number == gpu::SESSION
                || self.sessions.contains_key(&saved.number)
                || self.sessions.len() >= super::MAX_SESSIONS
            {
                return Err(reader.not_whole());
            }
            let printed = reader.bytes(&stored)?;
            let mut session = Session::restored(
                &saved,
                printed,
                self.target.clone(),
                (self.keeps_log, &self.boards),
            );
            if let Some(apis) = &saved.apis {
                session.reconnect(&mut self.context(memory), &devices, apis)?;
            }
            open = Some((saved.number, session));
        }
        self.sessions.extend(open);
        self.seen_driver |= !self.sessions.is_empty();
        Ok(())
    }
}

fn begin(reader: &mut Reader) -> Result<Vec<DeviceInfo>, CheckpointError> {
    let stored = reader.next()?.ok_or_else(|| reader.not_whole())?;
    match stored.record() {
        Ok(Record::Begin(begin)) => Ok(begin.devices),
        Ok(_) => Err(reader.not_whole()),
        Err(error) => Err(reader.damaged(error)),
    }
}

/// Writes a file whole, or leaves none.
fn write(
    path: &Path,
    body: impl FnOnce(&mut Writer) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let mut writer = Writer::create(path)?;
    let written = body(&mut writer).and_then(|()| writer.finish());
    if written.is_err() {
        // What failed is the reason to tell.
        let _ = std::fs::remove_file(path);
    }
    written
}
