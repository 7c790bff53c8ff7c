//! The part of a profile that says what the target has where the board has something else,
//! and the model that turns one's times into the other's.
//!
//! An operation's time on the board has a part that the CPU's clock changes, a part that the
//! GPU does, and a rest that nothing changes (`idle`). What the GPU does is bounded by its cores
//! and their clock, by its memory, or by a chain of steps that more cores do not shorten,
//! whichever takes longest, as in the roofline model (Williams, Waterman and Patterson, 2009).
//! With these parts of the time on the board, an operation lasts on the target (marked ') so
//! many times as long:
//!
//! ```text
//! factor = idle + cpu · Fc/Fc' + max(gpu · Fg/Fg' · n/n', serial · Fg/Fg', memory · B/B')
//! idle   = 1 - cpu - max(gpu, serial, memory)
//! ```
//!
//! `Fc` and `Fg` are the clocks of CPU and GPU, `n` the GPU's cores, `B` the bandwidth of its
//! memory.
//!
//! A CPU that serves as the device wakes a thread for each core and waits for it, kernel by kernel. With
//! the part `threads`, which may be 0, its parts come one after the other:
//!
//! ```text
//! factor = idle + cpu · Fc/Fc' + (gpu · n/n' + serial + threads · (n'-1)/(n-1)) · Fg/Fg'
//! idle   = 1 - cpu - gpu - serial - threads
//! ```

use super::Profile;
use super::guest_governor::RATES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most changes that a governor makes.
pub const GOVERNOR_MAX: usize = 1000;
/// Most sizes of measured copies.
pub const MEASURED_MAX: usize = 64;
/// Least and greatest number of times that an operation may last as long on the target.
const FACTOR_LEAST: f64 = 1e-6;
const FACTOR_MOST: f64 = 1e6;
/// Least and greatest bandwidth, in 10⁹ bytes a second.
const GB_S_LEAST: f64 = 1e-6;
const GB_S_MOST: f64 = 1e9;
/// Longest of what calls and copies cost: beyond it is a slip, and a guest that stands still.
const NS_MOST: u64 = 10_000_000_000;
const AT_MOST_10_S: &str = "at most 1e10, ten seconds";
const WITHIN_10_S: &str = "from -1e10 to 1e10, ten seconds";
/// Latest time of a change: some eleven days.
const LATEST_MS: f64 = 1e9;

/// What a board or the target has. What is absent is not known, or is as on the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// The CPU's clock, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_mhz: Option<f64>,
    /// The GPU's clock, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_mhz: Option<f64>,
    /// The GPU's cores (also called compute units or multiprocessors).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// The bandwidth of the GPU's memory, in 10⁹ bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gb_s: Option<f64>,
}

/// One quantity of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The CPU's clock.
    CpuMhz,
    /// The GPU's clock.
    GpuMhz,
    /// The GPU's cores.
    Cores,
    /// The bandwidth of its memory.
    MemoryGbS,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::CpuMhz, Self::GpuMhz, Self::Cores, Self::MemoryGbS];

    /// Its key in a profile.
    pub const fn key(self) -> &'static str {
        match self {
            Self::CpuMhz => "cpu_mhz",
            Self::GpuMhz => "gpu_mhz",
            Self::Cores => "cores",
            Self::MemoryGbS => "memory_gb_s",
        }
    }
}

/// The target by a command's option: one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Targeted {
    /// Which.
    pub quantity: Quantity,
    /// How much: a finite number above 0.
    pub value: f64,
}

impl std::str::FromStr for Targeted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keys = Quantity::ALL.map(Quantity::key).join(", ");
        let wrong = || {
            format!(
                "it is KEY=NUMBER with a key of {keys} and a number above 0, of cores a whole one"
            )
        };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let mut all = Quantity::ALL.into_iter();
        let quantity = all.find(|it| it.key() == key).ok_or_else(wrong)?;
        let value: f64 = value.parse().map_err(|_| wrong())?;
        let is_usable = match quantity {
            Quantity::Cores => is_count(value),
            _ => is_positive(value),
        };
        is_usable
            .then_some(Self { quantity, value })
            .ok_or_else(wrong)
    }
}

impl Machine {
    /// How much it has of it.
    pub const fn get(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::CpuMhz => self.cpu_mhz,
            Quantity::GpuMhz => self.gpu_mhz,
            Quantity::Cores => self.cores,
            Quantity::MemoryGbS => self.memory_gb_s,
        }
    }

    /// It has so much.
    pub const fn set(&mut self, Targeted { quantity, value }: Targeted) {
        let place = match quantity {
            Quantity::CpuMhz => &mut self.cpu_mhz,
            Quantity::GpuMhz => &mut self.gpu_mhz,
            Quantity::Cores => &mut self.cores,
            Quantity::MemoryGbS => &mut self.memory_gb_s,
        };
        *place = Some(value);
    }

    /// The board's over the target's; 1 where one of them is not known.
    fn ratio(&self, target: &Self, quantity: Quantity) -> f64 {
        match (self.get(quantity), target.get(quantity)) {
            (Some(board), Some(target)) => board / target,
            _ => 1.0,
        }
    }

    /// The target's cores after the first over the board's; 1 where one of them is not known, or the board has
    /// one core.
    fn others(&self, target: &Self) -> f64 {
        match (self.cores, target.cores) {
            (Some(board), Some(target)) if board > 1.0 => (target - 1.0) / (board - 1.0),
            _ => 1.0,
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Parts of an operation's time on the board; what neither the CPU nor the GPU takes is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parts {
    /// That the CPU's clock changes.
    pub cpu: f64,
    /// That the GPU's clock and cores change.
    pub gpu: f64,
    /// That the GPU's clock changes and not its cores, at the same time as `gpu`.
    pub serial: f64,
    /// That the memory's bandwidth changes, at the same time as `gpu`.
    pub memory: f64,
    /// That the GPU's clock changes, and the number of its cores after the first: what threads of a CPU cost.
    /// Then these parts come one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<f64>,
}

impl Parts {
    /// How many times as long an operation lasts on the target as on the board.
    pub fn factor(&self, board: &Machine, target: &Machine) -> f64 {
        let ratio = |quantity| board.ratio(target, quantity);
        let clock = ratio(Quantity::GpuMhz);
        let spread = self.gpu * clock * ratio(Quantity::Cores);
        let gpu = match self.threads {
            Some(threads) => {
                let threads = threads * board.others(target);
                spread + (self.serial + threads) * clock
            }
            None => spread
                .max(self.serial * clock)
                .max(self.memory * ratio(Quantity::MemoryGbS)),
        };
        let idle = (1.0 - self.busy()).max(0.0);
        idle + self.cpu * ratio(Quantity::CpuMhz) + gpu
    }

    /// Whether a part follows a quantity. The larger of two parts may hide that.
    fn has(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::CpuMhz => self.cpu > 0.0,
            Quantity::GpuMhz => self.gpu > 0.0 || self.serial > 0.0 || self.threads > Some(0.0),
            Quantity::Cores => self.gpu > 0.0 || self.threads > Some(0.0),
            Quantity::MemoryGbS => self.memory > 0.0,
        }
    }

    /// What of the time on the board is not idle.
    fn busy(&self) -> f64 {
        self.cpu
            + match self.threads {
                Some(threads) => self.gpu + self.serial + threads,
                None => self.gpu.max(self.serial).max(self.memory),
            }
    }
}

/// A copy in one direction, as the target's bus does it: by a bandwidth, or as copies were
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bus {
    /// Nanoseconds that each copy takes beside its bytes.
    #[serde(skip_serializing_if = "is_none")]
    pub latency_ns: u64,
    /// 10⁹ bytes a second: above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_s: Option<f64>,
    /// Instead: bytes and nanoseconds of copies, by rising bytes. Others lie on straight lines
    /// between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<(u64, u64)>,
}

fn number(key: String, value: f64, must: &'static str, is_fine: bool) -> Result<(), MachineError> {
    match is_fine {
        true => Ok(()),
        false => Err(MachineError::Number { key, value, must }),
    }
}

fn is_none(ns: &u64) -> bool {
    *ns == 0
}

impl Bus {
    fn check(&self, key: &str) -> Result<(), MachineError> {
        let has_both = self.latency_ns > 0 && !self.measured.is_empty();
        if has_both || self.gb_s.is_some() != self.measured.is_empty() {
            return Err(MachineError::Bus(key.into()));
        }
        if let Some(gb_s) = self.gb_s {
            let is_fine = (GB_S_LEAST..=GB_S_MOST).contains(&gb_s);
            number(format!("{key}.gb_s"), gb_s, "from 1e-6 to 1e9", is_fine)?;
        }
        let latency = ("latency_ns", self.latency_ns);
        let times = self.measured.iter().map(|(_, ns)| ("measured", *ns));
        for (name, ns) in times.chain([latency]) {
            let key = format!("{key}.{name}");
            number(key, ns as f64, AT_MOST_10_S, ns <= NS_MOST)?;
        }
        let sizes = self.measured.iter().map(|(bytes, _)| *bytes);
        match sizes.is_sorted_by(|one, next| one < next) && self.measured.len() <= MEASURED_MAX {
            true => Ok(()),
            false => Err(MachineError::Measured(key.into())),
        }
    }

    /// The part of the setting `costs` for this direction of an API's copies.
    fn write(&self, name: &str, way: &str, text: &mut String) {
        if let Some(gb_s) = self.gb_s {
            let (latency_ns, bytes_per_s) = (self.latency_ns, gb_s * 1e9);
            let _ = write!(text, "+{name}.{way}:{latency_ns}/{bytes_per_s}");
        }
        for (bytes, ns) in &self.measured {
            let _ = write!(text, "+{name}.{way}-at:{bytes}/{ns}");
        }
    }
}

/// Copies to the device and from it; what is absent takes what it takes on the board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Copies {
    /// To the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Bus>,
    /// From the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Bus>,
}

/// A change of the target's frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Milliseconds of the guest's time, from which on it counts: what starts earlier goes on
    /// as it began.
    pub from_ms: f64,
    /// The CPU's clock from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_mhz: Option<f64>,
    /// The GPU's clock from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_mhz: Option<f64>,
}

/// What is wrong with a profile's numbers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// A number.
    #[error("{key} = {value}: it must be {must}")]
    Number {
        /// Its key.
        key: String,
        /// The number.
        value: f64,
        /// What it may be.
        must: &'static str,
    },
    /// The target has what the board is not known to have.
    #[error(
        "{part} {key} and no [board] {key}: say what the board has, since only the ratio counts"
    )]
    Board {
        /// Of the profile.
        part: &'static str,
        /// The key.
        key: &'static str,
    },
    /// Parts at the same time, and one after the other.
    #[error(
        "[parts.{0}] threads and memory: a CPU's parts come one after the other, so leave one of them out"
    )]
    Threads(String),
    /// What cores after the first cost, where there are none.
    #[error(
        "[parts.{0}] threads and [board] cores = 1: threads is what the board's cores after the first cost"
    )]
    OneThread(String),
    /// Nobody knows what that changes.
    #[error(
        "a target or a governor and no [parts.API], such as [parts.gles]: say which parts of an operation's time change"
    )]
    Parts,
    /// A target that is too far from the board.
    #[error(
        "a target on which {what} lasts {factor:e} times as long: the factor must be from 1e-6 to 1e6"
    )]
    Factor {
        /// What lasts so long.
        what: String,
        /// How many times.
        factor: f64,
    },
    /// A copy's time, by none of both ways or by both.
    #[error(
        "[{0}]: say gb_s (and latency_ns), or measured = [[BYTES, NANOSECONDS], …], and not both"
    )]
    Bus(String),
    /// The sizes of measured copies.
    #[error(
        "{0}.measured: its copies must be at most {MEASURED_MAX}, each of more bytes than the one before"
    )]
    Measured(String),
    /// A governor's changes.
    #[error("{} changes in [[governor]]: they are at most {GOVERNOR_MAX}", .0)]
    Governor(usize),
    /// The same: one that says no clock.
    #[error("a change in [[governor]] from_ms = {} that changes nothing: say its gpu_mhz or cpu_mhz", .0)]
    Idle(f64),
    /// The same: their order.
    #[error("a change in [[governor]] from_ms = {} that is not later than the one before it", .0)]
    Order(f64),
    /// The guest's rates.
    #[error(
        "[guest_governor] gpu_mhz = {0:?}: they are from 1 to {RATES_MAX} clocks, from the lowest to the highest"
    )]
    Rates(Vec<f64>),
    /// Two that set one clock.
    #[error(
        "[guest_governor] and [[governor]]: a clock is set by the guest or by the profile, so leave one of them out"
    )]
    Governors,
}

pub(super) const POSITIVE: &str = "a finite number above 0";

/// What the sum of three parts may have more than 1, each rounded to three digits.
const ROUNDED: f64 = 0.0015 + 1e-9;
/// More cores than any GPU's.
pub const CORES_MAX: u32 = 1_000_000;
const CORES: &str = "a whole number from 1 to 1000000";

fn is_count(value: f64) -> bool {
    (1.0..=f64::from(CORES_MAX)).contains(&value) && value.fract() == 0.0
}

pub(super) fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

impl Profile {
    /// Whether the machines' numbers can be.
    pub(super) fn check_machines(&self) -> Result<(), MachineError> {
        let machines = [("board", &self.board), ("target", &self.target)];
        for (part, machine) in machines {
            for quantity in Quantity::ALL {
                if let Some(value) = machine.get(quantity) {
                    let key = format!("{part}.{}", quantity.key());
                    match quantity {
                        Quantity::Cores => number(key, value, CORES, is_count(value))?,
                        _ => number(key, value, POSITIVE, is_positive(value))?,
                    }
                }
            }
        }
        for (name, parts) in &self.parts {
            let all = [
                ("cpu", parts.cpu),
                ("gpu", parts.gpu),
                ("memory", parts.memory),
                ("serial", parts.serial),
                ("threads", parts.threads.unwrap_or_default()),
            ];
            for (key, value) in all {
                let key = format!("parts.{name}.{key}");
                number(key, value, "from 0 to 1", (0.0..=1.0).contains(&value))?;
            }
            let sum = parts.busy();
            let which = match parts.threads {
                Some(_) => "all parts",
                None => "cpu and the greatest other part",
            };
            let key = format!("parts.{name}, {which} together");
            number(key, sum, "at most 1", sum <= 1.0 + ROUNDED)?;
            if parts.threads.is_some() && parts.memory > 0.0 {
                return Err(MachineError::Threads(name.clone()));
            }
            let is_one = self.board.cores == Some(1.0);
            if is_one && parts.threads > Some(0.0) {
                return Err(MachineError::OneThread(name.clone()));
            }
        }
        for (name, copies) in &self.copies {
            for (way, bus) in copies.ways() {
                bus.check(&format!("copies.{name}.{way}"))?;
            }
        }
        for (name, calls) in &self.calls {
            let all = [
                ("submit_ns", calls.submit_ns),
                ("launch_ns", calls.launch_ns),
                ("gap_ns", calls.gap_ns),
                ("wake_ns", calls.wake_ns),
                ("completion_ns", calls.completion_ns),
                ("post_ns", calls.post_ns),
            ];
            for (key, ns) in all {
                let key = format!("calls.{name}.{key}");
                number(key, ns as f64, AT_MOST_10_S, ns <= NS_MOST)?;
            }
            let is_fine = calls.offset_ns.unsigned_abs() <= NS_MOST;
            let key = format!("calls.{name}.offset_ns");
            number(key, calls.offset_ns as f64, WITHIN_10_S, is_fine)?;
            let key = format!("calls.{name}.scale");
            let is_fine = (FACTOR_LEAST..=FACTOR_MOST).contains(&calls.scale);
            number(key, calls.scale, "from 1e-6 to 1e6", is_fine)?;
        }
        self.check_governor(&number)?;
        self.check_guest_governor(&number)?;
        self.check_target()
    }

    fn check_governor(
        &self,
        number: &dyn Fn(String, f64, &'static str, bool) -> Result<(), MachineError>,
    ) -> Result<(), MachineError> {
        for step in &self.governor {
            let from = step.from_ms;
            let is_fine = (0.0..=LATEST_MS).contains(&from);
            number("governor.from_ms".into(), from, "from 0 to 1e9", is_fine)?;
            if step.machine().is_empty() {
                return Err(MachineError::Idle(from));
            }
            for (key, value) in [("cpu_mhz", step.cpu_mhz), ("gpu_mhz", step.gpu_mhz)] {
                if let Some(value) = value {
                    number(
                        format!("governor.{key}"),
                        value,
                        POSITIVE,
                        is_positive(value),
                    )?;
                }
            }
        }
        if self.governor.len() > GOVERNOR_MAX {
            return Err(MachineError::Governor(self.governor.len()));
        }
        let mut pairs = self.governor.iter().zip(self.governor.iter().skip(1));
        let early = pairs.find(|(one, next)| ns(next) <= ns(one));
        early.map_or(Ok(()), |(_, next)| Err(MachineError::Order(next.from_ms)))
    }

    /// Whether what the target has can be compared with what the board has.
    fn check_target(&self) -> Result<(), MachineError> {
        let of = |part, machine: &Machine| {
            let mut all = Quantity::ALL.into_iter();
            let lacks = |it: &Quantity| machine.get(*it).is_some() && self.board.get(*it).is_none();
            match all.find(lacks) {
                Some(quantity) => Err(MachineError::Board {
                    part,
                    key: quantity.key(),
                }),
                None => Ok(()),
            }
        };
        of("[target]", &self.target)?;
        for step in &self.governor {
            of("[[governor]]", &step.machine())?;
        }
        if let Some(governor) = &self.guest_governor {
            let first = governor.gpu_mhz.first();
            let machine = first.map(|mhz| self.machine_at(*mhz));
            of("[guest_governor]", &machine.unwrap_or_default())?;
        }
        let changes =
            !self.target.is_empty() || !self.governor.is_empty() || self.guest_governor.is_some();
        if changes && self.parts.is_empty() {
            return Err(MachineError::Parts);
        }
        let fine = |what: &str, factor: f64| match (FACTOR_LEAST..=FACTOR_MOST).contains(&factor) {
            true => Ok(()),
            false => Err(MachineError::Factor {
                what: what.into(),
                factor,
            }),
        };
        for (name, parts) in &self.parts {
            let rates = self.guest_governor.iter().flat_map(|it| &it.gpu_mhz);
            let at_rates = rates.map(|mhz| (0, self.machine_at(*mhz)));
            for (_, machine) in self.machines().into_iter().chain(at_rates) {
                let factor = parts.factor(&self.board, &machine);
                fine(&format!("an operation of {name}"), factor)?;
            }
        }
        let ratio = self.cpu.as_ref().map_or(1.0, |cpu| cpu.ratio);
        fine("the CPU's part of a call", ratio * self.cpu_ratio())?;
        Ok(())
    }

    /// What the target has while its GPU has this clock.
    pub(super) fn machine_at(&self, gpu_mhz: f64) -> Machine {
        Machine {
            gpu_mhz: Some(gpu_mhz),
            ..self.target
        }
    }

    /// What the target has, from which nanosecond of the guest's time on; nothing if it has
    /// what the board has.
    fn machines(&self) -> Vec<(u64, Machine)> {
        let mut machine = self.target;
        let mut all = Vec::new();
        if !self.target.is_empty() && self.governor.first().is_none_or(|it| ns(it) > 0) {
            all.push((0, machine));
        }
        for step in &self.governor {
            let set = step.machine();
            machine.cpu_mhz = set.cpu_mhz.or(machine.cpu_mhz);
            machine.gpu_mhz = set.gpu_mhz.or(machine.gpu_mhz);
            all.push((ns(step), machine));
        }
        all
    }

    /// The names of the APIs whose operations may last longer or shorter on the target than on the
    /// board. All that have parts do if the target has what the board has, or if only its CPU or
    /// what the guest sets is another.
    pub fn scaled(&self) -> BTreeSet<&str> {
        let machines = self.machines();
        let differs = |quantity| {
            let mut machines = machines.iter();
            machines.any(|(_, machine)| self.board.ratio(machine, quantity) != 1.0)
        };
        let [cpu, of_gpu @ ..] = Quantity::ALL;
        let is_told = of_gpu.into_iter().any(differs) && !differs(cpu);
        let changes = |parts: &Parts| {
            Quantity::ALL
                .into_iter()
                .any(|it| differs(it) && parts.has(it))
        };
        let all = self.parts.iter();
        let all =
            all.filter(|(_, parts)| !is_told || self.guest_governor.is_some() || changes(parts));
        all.map(|(name, _)| name.as_str()).collect()
    }

    /// Puts the target's machine in the place of the profile's, quantity by quantity.
    ///
    /// # Errors
    /// [`MachineError`] if the profile does not say enough of the board.
    pub fn target_has(&mut self, all: &[Targeted]) -> Result<(), MachineError> {
        all.iter().for_each(|targeted| self.target.set(*targeted));
        self.check_machines()
    }

    /// How many times as long the target's CPU takes by its clock.
    pub(super) fn cpu_ratio(&self) -> f64 {
        self.board.ratio(&self.target, Quantity::CpuMhz)
    }

    /// What of the host interface's setting `costs` says of clocks and copies.
    pub(super) fn write_machines(&self, text: &mut String) {
        for (name, parts) in &self.parts {
            for (from_ns, machine) in self.machines() {
                let factor = parts.factor(&self.board, &machine);
                let _ = write!(text, "+{name}.clock:{from_ns}/{factor}");
            }
        }
        self.write_rates(text);
        for (name, copies) in &self.copies {
            for (way, bus) in copies.ways() {
                bus.write(name, way, text);
            }
        }
    }
}

impl Copies {
    fn ways(&self) -> impl Iterator<Item = (&'static str, &Bus)> {
        let all = [("to", &self.to), ("from", &self.from)];
        all.into_iter()
            .filter_map(|(way, bus)| Some((way, bus.as_ref()?)))
    }
}

impl Step {
    fn machine(&self) -> Machine {
        Machine {
            cpu_mhz: self.cpu_mhz,
            gpu_mhz: self.gpu_mhz,
            ..Machine::default()
        }
    }
}

/// A change's time, which is not below 0.
fn ns(step: &Step) -> u64 {
    (step.from_ms * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile {
            board: Machine {
                cpu_mhz: Some(1000.0),
                gpu_mhz: Some(600.0),
                cores: Some(4.0),
                memory_gb_s: Some(10.0),
            },
            parts: [(
                "gles".into(),
                Parts {
                    cpu: 0.125,
                    gpu: 0.5,
                    memory: 0.25,
                    serial: 0.125,
                    threads: None,
                },
            )]
            .into(),
            ..Profile::empty()
        }
    }

    fn with(targets: &[&str]) -> Profile {
        let mut profile = profile();
        let all: Vec<Targeted> = targets.iter().map(|text| text.parse().unwrap()).collect();
        profile.target_has(&all).unwrap();
        profile
    }

    #[test]
    fn a_target_changes_what_is_a_part_of() {
        let scaled = |cpu, memory, targets: &[&str]| {
            let mut profile = with(targets);
            profile.parts.get_mut("gles").unwrap().memory = memory;
            profile.parts.get_mut("gles").unwrap().cpu = cpu;
            !profile.scaled().is_empty()
        };
        assert!(scaled(0.1, 0.0, &["gpu_mhz=300"]) && scaled(0.1, 0.0, &["cores=2"]));
        assert!(!scaled(0.1, 0.0, &["memory_gb_s=1"]));
        // The GPU's part is the larger one.
        assert!(scaled(0.1, 0.2, &["memory_gb_s=9"]));
        // What calls do on the CPU lasts longer, too.
        assert!(scaled(0.0, 0.0, &["memory_gb_s=1", "cpu_mhz=500"]));
        assert!(scaled(0.0, 0.0, &["memory_gb_s=10"]), "the board's own");
    }

    #[test]
    fn threads_of_a_cpu_cost_by_the_cores_after_the_first() {
        let of = |threads, targets: &[&str]| {
            let mut profile = with(targets);
            let parts = profile.parts.get_mut("gles").unwrap();
            *parts = Parts {
                gpu: 0.25,
                serial: 0.125,
                threads: Some(threads),
                ..Parts::default()
            };
            let found = parts.factor(&profile.board, &profile.target);
            assert!(!profile.scaled().is_empty(), "{targets:?}");
            profile.check_machines().unwrap();
            found
        };
        // The board has 4 cores, and 600 MHz.
        for (threads, targets, factor) in [
            (0.375, &["cores=1"][..], 0.25 + 1.0 + 0.125),
            (0.375, &["cores=16"], 0.25 + 0.0625 + 0.125 + 1.875),
            (0.375, &["cores=4", "gpu_mhz=300"], 0.25 + 1.5),
            (0.0, &["cores=2"], 0.625 + 0.5 + 0.125),
        ] {
            let found = of(threads, targets);
            assert!((found - factor).abs() < 1e-12, "{targets:?}: {found}");
        }
    }

    /// Three parts of three digits each are 1.0015 together at most.
    #[test]
    fn parts_may_be_rounded_and_are_no_more_than_all() {
        let refused = |serial| {
            let mut profile = profile();
            *profile.parts.get_mut("gles").unwrap() = Parts {
                cpu: 0.334,
                gpu: 0.334,
                serial,
                threads: Some(0.0),
                ..Parts::default()
            };
            profile
                .check_machines()
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refused(0.3335), None);
        let said = refused(0.34).unwrap_or_default();
        assert!(
            said.contains("all parts together") && said.contains("1.008"),
            "{said}"
        );
    }

    #[test]
    fn each_part_follows_its_quantity() {
        for (targets, factor) in [
            (&["cpu_mhz=500"][..], 1.125),
            (&["gpu_mhz=300"], 1.5),
            (&["cores=8"], 0.75),
            (&["cores=64"], 0.75),
            (&["cores=1"], 2.5),
            (&["memory_gb_s=5"], 1.0),
            (&["memory_gb_s=1"], 3.0),
            (&["gpu_mhz=300", "cores=8"], 1.0),
        ] {
            let profile = with(targets);
            let found = profile.parts["gles"].factor(&profile.board, &profile.target);
            assert!((found - factor).abs() < 1e-12, "{targets:?}: {found}");
        }
    }

    #[test]
    fn the_setting_has_clocks_and_copies() {
        let costs = with(&["gpu_mhz=300", "cpu_mhz=500"]).costs();
        assert_eq!(costs.as_deref(), Some("cpu:2+gles.clock:0/1.625"));
        let mut profile = profile();
        let step = |from_ms, gpu_mhz| Step {
            from_ms,
            cpu_mhz: None,
            gpu_mhz: Some(gpu_mhz),
        };
        profile.governor = vec![step(0.0, 300.0), step(2.5, 600.0)];
        profile.copies = [(
            "opencl".into(),
            Copies {
                to: Some(Bus {
                    latency_ns: 10,
                    gb_s: Some(1.5),
                    measured: Vec::new(),
                }),
                from: Some(Bus {
                    measured: vec![(4, 7), (400, 70)],
                    ..Bus::default()
                }),
            },
        )]
        .into();
        profile.check_machines().unwrap();
        let costs = "gles.clock:0/1.5+gles.clock:2500000/1+opencl.to:10/1500000000+opencl.from-at:4/7+opencl.from-at:400/70";
        assert_eq!(profile.costs().as_deref(), Some(costs));
    }

    #[test]
    fn what_cannot_be_is_one_sentence() {
        fn step(from_ms: f64, gpu_mhz: f64) -> Step {
            Step {
                from_ms,
                cpu_mhz: None,
                gpu_mhz: Some(gpu_mhz),
            }
        }
        fn set(text: &str) -> Targeted {
            text.parse().unwrap()
        }
        let refused = |change: fn(&mut Profile)| {
            let mut profile = profile();
            change(&mut profile);
            profile.check_machines().unwrap_err().to_string()
        };
        type Change = fn(&mut Profile);
        let cases: [(&str, Change); 15] = [
            ("an operation of gles lasts 4.99", |it| {
                it.target.set(set("gpu_mhz=6e-300"));
            }),
            ("board.cores = NaN", |it| it.board.cores = Some(f64::NAN)),
            ("target.gpu_mhz = -1", |it| it.target.gpu_mhz = Some(-1.0)),
            ("parts.gles.gpu = 1.5", |it| {
                it.parts.get_mut("gles").unwrap().gpu = 1.5;
            }),
            ("[parts.gles] threads and memory", |it| {
                it.parts.get_mut("gles").unwrap().threads = Some(0.0);
            }),
            ("all parts together = 1.125", |it| {
                let parts = it.parts.get_mut("gles").unwrap();
                *parts = Parts {
                    gpu: 0.5,
                    serial: 0.125,
                    threads: Some(0.5),
                    ..Parts::default()
                };
            }),
            ("board.cores = 1.5", |it| it.board.cores = Some(1.5)),
            ("together = 1.125", |it| {
                it.parts.get_mut("gles").unwrap().memory = 1.0;
            }),
            ("governor.from_ms = -1", |it| {
                it.governor = vec![step(-1.0, 5.0)];
            }),
            ("governor.gpu_mhz = 0", |it| {
                it.governor = vec![step(1.0, 0.0)]
            }),
            ("from_ms = 1 that changes nothing", |it| {
                let gpu_mhz = None;
                it.governor = vec![Step {
                    gpu_mhz,
                    ..step(1.0, 5.0)
                }];
            }),
            ("from_ms = 1 that is not later", |it| {
                it.governor = vec![step(1.0, 5.0), step(1.0, 6.0)];
            }),
            ("[target] cores and no [board] cores", |it| {
                it.board.cores = None;
                it.target.set(set("cores=4"));
            }),
            ("[[governor]] gpu_mhz and no [board]", |it| {
                it.board.gpu_mhz = None;
                it.governor = vec![step(1.0, 5.0)];
            }),
            ("and no [parts.API]", |it| {
                it.parts.clear();
                it.target.set(set("cores=4"));
            }),
        ];
        for (said, change) in cases {
            let sentence = refused(change);
            assert!(sentence.contains(said), "{sentence}");
        }
        for text in ["", "cores", "cores=", "cores=0", "cores=nan", "threads=4"] {
            assert!(text.parse::<Targeted>().is_err(), "{text}");
        }
    }
}
