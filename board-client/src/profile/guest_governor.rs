//! Rates of the target's GPU that a governor in the guest sets by the driver's files.

use super::Profile;
use super::machine::{MachineError, POSITIVE, is_positive};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Most rates: a doorbell's answer has no more.
pub const RATES_MAX: usize = 15;
/// Greatest, in MHz: beyond it is a slip.
const MHZ_MOST: f64 = 1e6;

/// What a governor in the guest may set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestGovernor {
    /// Rates of the GPU's clock in MHz, from the lowest to the highest.
    pub gpu_mhz: Vec<f64>,
}

impl Profile {
    pub(super) fn check_guest_governor(
        &self,
        number: &dyn Fn(String, f64, &'static str, bool) -> Result<(), MachineError>,
    ) -> Result<(), MachineError> {
        let Some(GuestGovernor { gpu_mhz }) = &self.guest_governor else {
            return Ok(());
        };
        for mhz in gpu_mhz {
            let key = || "guest_governor.gpu_mhz".into();
            number(key(), *mhz, POSITIVE, is_positive(*mhz))?;
            let is_fine = hz(*mhz) > 0 && *mhz <= MHZ_MOST;
            number(key(), *mhz, "from 1e-6 to 1e6", is_fine)?;
        }
        let are_sorted = gpu_mhz.windows(2).all(|pair| hz(pair[0]) < hz(pair[1]));
        match () {
            () if !are_sorted || !(1..=RATES_MAX).contains(&gpu_mhz.len()) => {
                Err(MachineError::Rates(gpu_mhz.clone()))
            }
            () if !self.governor.is_empty() => Err(MachineError::Governors),
            () => Ok(()),
        }
    }

    /// What of the host interface's setting `costs` says of the guest's rates.
    pub(super) fn write_rates(&self, text: &mut String) {
        let Some(GuestGovernor { gpu_mhz }) = &self.guest_governor else {
            return;
        };
        let first = self.target.gpu_mhz.or(self.board.gpu_mhz);
        let _ = write!(text, "+gpu:{}", hz(first.unwrap_or_default()));
        for (name, parts) in &self.parts {
            for mhz in gpu_mhz {
                let factor = parts.factor(&self.board, &self.machine_at(*mhz));
                let _ = write!(text, "+{name}.rate:{}/{factor}", hz(*mhz));
            }
        }
    }
}

fn hz(mhz: f64) -> u64 {
    (mhz * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Machine, Parts, Step};

    fn profile(gpu_mhz: &[f64]) -> Profile {
        Profile {
            board: Machine {
                gpu_mhz: Some(600.0),
                ..Machine::default()
            },
            parts: [(
                "opencl".into(),
                Parts {
                    gpu: 0.5,
                    ..Parts::default()
                },
            )]
            .into(),
            guest_governor: Some(GuestGovernor {
                gpu_mhz: gpu_mhz.into(),
            }),
            ..Profile::empty()
        }
    }

    #[test]
    fn the_setting_has_each_rate() {
        let mut profile = profile(&[300.0, 600.0]);
        profile.check_machines().unwrap();
        let costs = "gpu:600000000+opencl.rate:300000000/1.5+opencl.rate:600000000/1";
        assert_eq!(profile.costs().as_deref(), Some(costs));
        profile.target.gpu_mhz = Some(300.0);
        let costs =
            "opencl.clock:0/1.5+gpu:300000000+opencl.rate:300000000/1.5+opencl.rate:600000000/1";
        assert_eq!(profile.costs().as_deref(), Some(costs));
    }

    #[test]
    fn what_cannot_be_is_one_sentence() {
        let refused = |profile: &Profile| profile.check_machines().unwrap_err().to_string();
        let many: Vec<f64> = (1..=16).map(f64::from).collect();
        for (rates, said) in [
            (&[][..], "[]: they are from 1 to 15"),
            (&[2.0, 1.0], "from the lowest to the highest"),
            (&[1.0, 1.0], "from the lowest to the highest"),
            (&many, "from 1 to 15 clocks"),
            (&[f64::NAN], "a finite number above 0"),
            (&[1e-9], "from 1e-6 to 1e6"),
        ] {
            let sentence = refused(&profile(rates));
            assert!(sentence.contains(said), "{sentence}");
        }
        let mut both = profile(&[300.0]);
        both.governor = vec![Step {
            from_ms: 0.0,
            cpu_mhz: None,
            gpu_mhz: Some(300.0),
        }];
        assert!(refused(&both).contains("leave one of them out"));
        let mut of_nothing = profile(&[300.0]);
        of_nothing.board.gpu_mhz = None;
        let said = "[guest_governor] gpu_mhz and no [board] gpu_mhz";
        assert!(refused(&of_nothing).contains(said));
        let mut without_parts = profile(&[300.0]);
        without_parts.parts.clear();
        assert!(refused(&without_parts).contains("no [parts.API]"));
    }
}
