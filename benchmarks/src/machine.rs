//! The machine and date of a measurement.

use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// A machine, as a reader of figures needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's model.
    pub cpu: String,
    /// How many CPUs this process may use.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: model(&cpus).unwrap_or(std::env::consts::ARCH).into(),
            cores: cores(),
            kernel: kernel.trim().into(),
        }
    }
}

/// How many CPUs this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// x86 says `model name`, arm `Model` of the board at the end.
fn model(cpuinfo: &str) -> Option<&str> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut named = fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case("model name"));
    named.next().map(|(_, value)| value.trim())
}

/// The day, UTC, as `YYYY-MM-DD`.
pub fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    day(now.map_or(0, |since| since.as_secs() / 86_400))
}

/// The Gregorian date of a day, counted from 1970-01-01.
fn day(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (days, date) in [
            (0, "1970-01-01"),
            (364, "1970-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(day(days), date);
        }
    }

    #[test]
    fn the_cpu_is_named() {
        assert_eq!(model("processor\t: 0\nmodel name\t: A B\n"), Some("A B"));
        assert_eq!(model(""), None);
    }
}
