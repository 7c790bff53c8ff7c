//! A machine's back ends as one board: a call goes to the back end that serves its API,
//! which is loaded at its first call.

use crate::back_end::work::Owed;
use crate::back_end::{BackEnd, DriverOptions, cpu_time};
use crate::board::{Board, BoardError, Call, Ended, Guest, Outcome, Session, Unable};
use crate::region::Budget;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::identity::{DeviceIdentity, DeviceInfo};
use std::sync::OnceLock;

/// The back ends of this machine.
#[derive(Debug)]
pub struct Router {
    slots: Vec<Slot>,
    options: DriverOptions,
    /// What drivers said they have, each asked alone.
    devices: Vec<DeviceInfo>,
    /// Whether confinement may be why a driver finds less than it did then.
    is_confined: bool,
}

/// One of them.
#[derive(Debug)]
struct Slot {
    back_end: &'static dyn BackEnd,
    loaded: OnceLock<Loaded>,
}

/// One that is loaded.
#[derive(Debug)]
struct Loaded {
    board: Box<dyn Board>,
    /// What that takes each program, if programs load it.
    load: Option<Owed>,
}

impl Router {
    /// None is loaded yet.
    pub fn new(
        back_ends: &[&'static dyn BackEnd],
        options: DriverOptions,
        devices: Vec<DeviceInfo>,
        is_confined: bool,
    ) -> Self {
        let slot = |&back_end| Slot {
            back_end,
            loaded: OnceLock::new(),
        };
        Self {
            slots: back_ends.iter().map(slot).collect(),
            options,
            devices,
            is_confined,
        }
    }

    /// Loads the first back end, which most programs use, for sessions to come.
    pub fn load_ahead(&self) {
        if let Some(slot) = self.slots.first()
            && let Err(error) = self.load(slot)
        {
            tracing::debug!("{error}");
        }
    }

    /// The back end of this name, loaded.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn board(&self, name: &str) -> Result<&dyn Board, BoardError> {
        let slot = self.slots.iter().find(|slot| slot.back_end.name() == name);
        let slot = slot.ok_or_else(|| BoardError::NoBackEnd(name.into()))?;
        Ok(&*self.load(slot)?.board)
    }

    fn load<'s>(&self, slot: &'s Slot) -> Result<&'s Loaded, BoardError> {
        if let Some(loaded) = slot.loaded.get() {
            return Ok(loaded);
        }
        let (board, took) = cpu_time::measure(|| slot.back_end.load(self.options));
        let board = board?;
        let devices = board.devices();
        self.warn_of_missing(slot.back_end, &devices);
        let of_programs = slot.back_end.is_of_programs();
        let load = of_programs.then(|| Owed::load(slot.back_end.name(), &devices, took));
        Ok(slot.loaded.get_or_init(|| Loaded { board, load }))
    }

    fn warn_of_missing(&self, back_end: &dyn BackEnd, found: &[DeviceInfo]) {
        let expected = self.devices.iter().filter(|_| self.is_confined);
        let is_own = |device: &&DeviceInfo| {
            let titles = back_end
                .apis()
                .iter()
                .filter_map(|&number| api::api(number));
            titles.into_iter().any(|api| api.title == device.api)
        };
        for device in expected
            .filter(is_own)
            .filter(|device| !found.contains(device))
        {
            tracing::warn!(
                "{} of {} is not found in a session's process, which is confined: look with `strace -f` what its driver is denied (EPERM, EACCES) and report it; --no-confinement does without",
                device.name,
                device.platform
            );
        }
    }
}

impl Board for Router {
    fn devices(&self) -> Vec<DeviceInfo> {
        self.devices.clone()
    }

    fn open<'b>(
        &'b self,
        guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn Session + 'b>, BoardError> {
        Ok(Box::new(Routed {
            router: self,
            guest,
            budget: budget.clone(),
            sessions: self.slots.iter().map(|_| None).collect(),
            loads: vec![None; self.slots.len()],
        }))
    }
}

/// One guest program's sessions, one a back end that it called.
struct Routed<'b> {
    router: &'b Router,
    guest: Guest,
    budget: Budget,
    sessions: Vec<Option<Box<dyn Session + 'b>>>,
    /// What it took to load them, until a call has paid.
    loads: Vec<Option<Owed>>,
}

impl<'b> Routed<'b> {
    fn place(&self, api: u16) -> Option<usize> {
        let mut slots = self.router.slots.iter();
        slots.position(|slot| slot.back_end.apis().contains(&api))
    }

    /// The session of an API's back end, if it was called.
    fn open(&self, api: u16) -> Option<&(dyn Session + 'b)> {
        self.sessions[self.place(api)?].as_deref()
    }

    /// The same, called for the first time now.
    fn session(&mut self, api: u16) -> Result<&mut (dyn Session + 'b), BoardError> {
        let unknown = || BoardError::NoBackEnd(format!("API {api}"));
        let place = self.place(api).ok_or_else(unknown)?;
        if self.sessions[place].is_none() {
            let loaded = self.router.load(&self.router.slots[place])?;
            self.sessions[place] = Some(loaded.board.open(self.guest, &self.budget)?);
            self.loads[place] = loaded.load;
        }
        Ok(self.sessions[place].as_deref_mut().expect("opened above"))
    }

    /// The same for a checkpoint's request: its program had loaded the drivers.
    fn restored(&mut self, api: u16) -> Result<&mut (dyn Session + 'b), Unable> {
        if let Some(place) = self.place(api) {
            self.session(api).map_err(Unable::because)?;
            self.loads[place] = None;
        }
        self.session(api).map_err(Unable::because)
    }

    /// The first call that is answered pays for loading the drivers of its API.
    fn pay(&mut self, api: u16, outcome: &mut Outcome) {
        if let Some(place) = self.place(api)
            && let Some(load) = self.loads[place]
            && load.is_added(outcome)
        {
            self.loads[place] = None;
        }
    }

    fn opened(&mut self) -> impl Iterator<Item = &mut Box<dyn Session + 'b>> {
        self.sessions.iter_mut().flatten()
    }
}

impl Session for Routed<'_> {
    fn apis(&self) -> Vec<Described> {
        let slots = self.router.slots.iter();
        let apis = slots.flat_map(|slot| slot.back_end.apis());
        api::described(&apis.copied().collect::<Vec<_>>())
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let (api, answer) = (call.head.op.api(), call.head.answer);
        let mut outcome = match self.session(api) {
            Ok(session) => session.call(call),
            Err(error) => return Outcome::not_served(error),
        };
        if answer {
            self.pay(api, &mut outcome);
        }
        outcome
    }

    fn finish(&mut self, event: u64, budget: &Budget) -> Option<Ended> {
        self.opened()
            .find_map(|session| session.finish(event, budget))
    }

    fn ended_behind(&mut self) -> Option<Ended> {
        self.opened().find_map(|session| session.ended_behind())
    }

    fn identify(&mut self, api: u16, device: u64) -> Option<DeviceIdentity> {
        let place = self.place(api)?;
        self.sessions[place].as_mut()?.identify(api, device)
    }

    fn survey(&mut self) -> Survey {
        let mut all = Survey::default();
        for session in self.opened() {
            let survey = session.survey();
            all.contents.extend(survey.contents);
            all.past.extend(survey.past);
            all.obstacles.extend(survey.obstacles);
        }
        all
    }

    fn fetch(&mut self, api: u16, object: u64) -> Result<Vec<u8>, Unable> {
        self.restored(api)?.fetch(api, object)
    }

    fn fill(&mut self, api: u16, object: u64, bytes: &[u8]) -> Result<(), Unable> {
        self.restored(api)?.fill(api, object, bytes)
    }

    fn past(&mut self, event: &PastEvent) -> Result<(), Unable> {
        self.restored(event.api)?.past(event)
    }

    fn number_from(&mut self, api: u16, number: u64) -> Result<(), Unable> {
        self.restored(api)?.number_from(api, number)
    }

    fn not_run(&self, op: Op) -> i32 {
        self.open(op.api())
            .map_or(-1, |session| session.not_run(op))
    }

    fn takes_shared(&self, op: Op) -> bool {
        let session = self.open(op.api());
        session.is_some_and(|session| session.takes_shared(op))
    }
}
