//! The target's devices: their engines, and what it adds to what the board measured, which
//! is the setting `costs` with the numbers of a board's profile.

use crate::rates::Rates;
use gil_timing::{Contention, Costs, CpuRatio, Delays, Engines, Line, Transfer, Wake};
use gil_wire::choice::Together;
use gil_wire::{Op, api};
use std::str::FromStr;
use std::sync::Arc;

static NONE: Costs = Costs::NONE;

/// What a session's operations are executed on. A clone is the same target.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The devices' engines.
    pub engines: Engines,
    /// What it adds.
    pub costs: Arc<AllCosts>,
}

impl Target {
    /// Whose processors have this contention, and which adds this.
    pub fn new(contention: Contention, costs: &AllCosts) -> Self {
        Self {
            engines: Engines::with_contention(contention),
            costs: Arc::new(costs.clone()),
        }
    }
}

/// Of the target's CPU, and of each API's operations. Written as `+` between
/// `cpu:RATIO` and, for an API by its name, `API.launch:NS`, `API.gap:NS`,
/// `API.completion:NS`, `API.post:NS`, `API.scale:FACTOR` and `API.offset:NS`, `API.wake:IDLE_NS/NS`, `API.clock:FROM_NS/FACTOR` for
/// each change of frequencies, and `API.to:LATENCY_NS/BYTES_PER_S` and `API.from:…` for copies to
/// the device and from it, or `API.to-at:BYTES/NS` and `API.from-at:…` for each size that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllCosts {
    /// Of what the board's CPU does for calls.
    pub cpu: CpuRatio,
    /// What the guest may set the GPU's clock to: written as `gpu:HZ` for the rate that it
    /// has first, and `API.rate:HZ/FACTOR` for each.
    pub rates: Rates,
    apis: Vec<(u16, Costs)>,
}

impl AllCosts {
    /// Those of an entry point's operations: its API's, or of the API that the same back end serves
    /// with it. OpenGL ES's pictures are drawn in EGL's swaps.
    pub fn of(&self, op: Op) -> &Costs {
        if self.apis.is_empty() {
            return &NONE;
        }
        let known = |is: &dyn Fn(u16) -> bool| self.apis.iter().find(|(api, _)| is(*api));
        let own = known(&|api| api == op.api());
        let beside = || {
            let together = Together::named(api::api(op.api())?.name).ok()?;
            known(&|api| together.has(api))
        };
        own.or_else(beside).map_or(&NONE, |(_, costs)| costs)
    }

    /// The guest sets the GPU's clock to this rate at `from_ns`; `None` if it has none
    /// such.
    pub fn set_rate(&mut self, hz: u64, from_ns: u64) -> Option<()> {
        for (api, factor) in self.rates.set(hz)? {
            self.of_number(api).clocks.set(from_ns, factor)?;
        }
        Some(())
    }

    fn of_mut(&mut self, name: &str) -> Option<&mut Costs> {
        Some(self.of_number(api::named(name)?.number))
    }

    fn of_number(&mut self, number: u16) -> &mut Costs {
        let place = self.apis.iter().position(|(api, _)| *api == number);
        let place = place.unwrap_or_else(|| {
            self.apis.push((number, Costs::NONE));
            self.apis.len() - 1
        });
        &mut self.apis[place].1
    }

    fn set(&mut self, part: &str) -> Option<()> {
        let (key, value) = part.split_once(':')?;
        let Some((name, key)) = key.split_once('.') else {
            return self.set_whole(key, value);
        };
        if key == "rate" {
            let (hz, factor) = pair(value)?;
            return self.rates.add(hz, api::named(name)?.number, factor);
        }
        let costs = self.of_mut(name)?;
        let Delays { launch_ns, gap_ns } = &mut costs.delays;
        match key {
            "launch" => *launch_ns = value.parse().ok()?,
            "gap" => *gap_ns = value.parse().ok()?,
            "submit" => costs.submit_ns = value.parse().ok()?,
            "completion" => costs.completion_ns = value.parse().ok()?,
            "post" => costs.post_ns = value.parse().ok()?,
            "scale" => costs.line = Line::new(value.parse().ok()?, costs.line.offset_ns())?,
            "offset" => costs.line = Line::new(costs.line.scale(), value.parse().ok()?)?,
            "wake" => {
                let (idle_ns, wake_ns) = value.split_once('/')?;
                costs.wake = Wake {
                    wake_ns: wake_ns.parse().ok()?,
                    idle_ns: idle_ns.parse().ok()?,
                };
            }
            "clock" => {
                let (from_ns, factor) = pair(value)?;
                costs.clocks.change(from_ns, factor)?;
            }
            "to" => costs.copies.to = Some(transfer(value)?),
            "from" => costs.copies.from = Some(transfer(value)?),
            "to-at" => measured(&mut costs.copies.to, value)?,
            "from-at" => measured(&mut costs.copies.from, value)?,
            _ => return None,
        }
        Some(())
    }
}

impl AllCosts {
    /// What is of no API.
    fn set_whole(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "cpu" => self.cpu = value.parse().ok().and_then(CpuRatio::new)?,
            "gpu" => self.rates.begin(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}

fn transfer(value: &str) -> Option<Transfer> {
    let (latency_ns, bytes_per_s) = pair(value)?;
    Transfer::new(latency_ns, bytes_per_s)
}

/// Adds what a copy took, of more bytes than those before.
fn measured(of: &mut Option<Transfer>, value: &str) -> Option<()> {
    let (bytes, ns) = value.split_once('/')?;
    let (bytes, ns) = (bytes.parse().ok()?, ns.parse().ok()?);
    match of {
        Some(of) => of.add(bytes, ns),
        None => {
            *of = Some(Transfer::measured(bytes, ns));
            Some(())
        }
    }
}

fn pair(value: &str) -> Option<(u64, f64)> {
    let (time_ns, number) = value.split_once('/')?;
    Some((time_ns.parse().ok()?, number.parse().ok()?))
}

/// The part of the setting that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPart(pub String);

impl FromStr for AllCosts {
    type Err = BadPart;

    fn from_str(text: &str) -> Result<Self, BadPart> {
        let mut all = Self::default();
        for part in text.split('+') {
            all.set(part).ok_or_else(|| BadPart(part.into()))?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_has_its_costs() {
        let text = "cpu:2.5+opencl.launch:30000+opencl.scale:1.5+opencl.offset:-7+gles.gap:9+gles.completion:4+gles.post:5";
        let all: AllCosts = text.parse().unwrap();
        let number = |name| Op::new(api::named(name).unwrap().number, 1);
        let opencl = all.of(number("opencl"));
        assert_eq!(opencl.delays.launch_ns, 30000);
        assert_eq!((opencl.line.at(100), all.cpu.at(10)), (143, 25));
        let gles = all.of(number("gles"));
        assert_eq!((gles.delays.gap_ns, gles.completion_ns), (9, 4));
        assert_eq!((gles.post_ns, opencl.post_ns), (5, 0));
        assert_eq!(
            all.of(number("egl")),
            gles,
            "swaps draw what OpenGL ES's calls say"
        );
        assert_eq!(all.of(number("cuda")), &Costs::NONE);
        let own: AllCosts = "gles.gap:9+egl.gap:3".parse().unwrap();
        assert_eq!(own.of(number("egl")).delays.gap_ns, 3);
        let text =
            "gles.wake:70/8+gles.clock:0/2+gles.clock:100/0.5+gles.to:40/1e9+gles.from:50/2e9";
        let all: AllCosts = text.parse().unwrap();
        let gles = all.of(number("gles"));
        assert_eq!([99, 100].map(|start| gles.clocks.at(start, 10)), [20, 5]);
        assert_eq!((gles.wake.at(71, 0), gles.wake.at(70, 0)), (8, 0));
        let copies = [&gles.copies.to, &gles.copies.from];
        assert_eq!(copies.map(|it| it.as_ref().unwrap().of(1000)), [1040, 550]);
        let text = "gles.to-at:4/10+gles.to-at:104/110+gles.from-at:1/7";
        let all: AllCosts = text.parse().unwrap();
        let gles = all.of(number("gles"));
        let copies = [&gles.copies.to, &gles.copies.from];
        assert_eq!(copies.map(|it| it.as_ref().unwrap().of(54)), [60, 7]);
    }

    #[test]
    fn a_rate_that_is_set_counts_from_then_on() {
        let text = "gpu:600+gles.rate:300/2+gles.rate:600/1+gles.clock:0/3";
        let mut all: AllCosts = text.parse().unwrap();
        let gles = Op::new(api::named("gles").unwrap().number, 1);
        assert_eq!(all.set_rate(450, 100), None);
        all.set_rate(300, 100).unwrap();
        let at = [99, 100].map(|start| all.of(gles).clocks.at(start, 10));
        assert_eq!(at, [30, 20]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        for text in [
            "",
            "cpu",
            "cpu:0",
            "cpu:nan",
            "gpu:fast",
            "gles.rate:5",
            "gles.rate:0/1",
            "direct3d.rate:1/1",
            "opencl.launch:-1",
            "opencl.launch:1e3",
            "opencl.scale:inf",
            "opencl.scale:0",
            "opencl.start:1",
            "opencl.wake:5",
            "opencl.wake:5/-1",
            "opencl.clock:5",
            "opencl.clock:5/0",
            "opencl.clock:5/1+opencl.clock:5/2",
            "opencl.to:1/inf",
            "opencl.from:-1/1e9",
            "opencl.to-at:5",
            "opencl.to-at:5/1+opencl.to-at:5/2",
            "opencl.to:5/1+opencl.to-at:5/2",
            "direct3d.launch:1",
            "cpu:1+",
        ] {
            let refused = text.parse::<AllCosts>().unwrap_err();
            assert!(text.contains(&refused.0), "{text}");
        }
    }
}
