//! The options of the guest's display, as the user writes them.

use clap::{ArgGroup, Args};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The guest's display.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "A display in the guest",
    group = ArgGroup::new("shown").multiple(true)
)]
pub struct DisplayOptions {
    /// Give the guest a display, and write what it shows as the program ends, as a PNG
    /// picture.
    #[arg(long, value_name = "OUT.png", group = "shown")]
    pub screen: Option<PathBuf>,
    /// Write a picture each time so much simulated time has passed, too: OUT-0001.png
    /// and so on beside OUT.png.
    #[arg(long, value_name = "N[ms|s]", requires = "screen", value_parser = period)]
    pub screen_every: Option<Duration>,
    /// Give the guest a display, and show it on a page that this machine's user can
    /// open while the program runs.
    #[arg(long, group = "shown")]
    pub display: bool,
    /// The display's size in pixels (default: 1280x800).
    #[arg(long, value_name = "WxH", requires = "shown")]
    pub screen_size: Option<Size>,
}

impl DisplayOptions {
    /// Its size, if there is one.
    pub fn size(&self) -> Option<Size> {
        let is_wanted = self.screen.is_some() || self.display;
        is_wanted.then(|| self.screen_size.unwrap_or_default())
    }

    /// Whether there is one.
    pub fn is_wanted(&self) -> bool {
        self.size().is_some()
    }

    /// The option that asks for one, if there is one.
    pub fn first(&self) -> Option<&'static str> {
        let first = [
            (self.screen.is_some(), "--screen"),
            (self.display, "--display"),
        ];
        let first = first.into_iter().find(|(is_given, _)| *is_given);
        first.map(|(_, name)| name)
    }
}

/// Pixels of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// In a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Default for Size {
    fn default() -> Self {
        let (width, height) = (1280, 800);
        Self { width, height }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Bounds of either: what the display's description (EDID) can say. QEMU makes its
/// pulses a part of the size, and the kernel drops a mode where one has no length.
const LEAST: u32 = 200;
const MOST: u32 = 4095;

/// A text that is no size of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write WIDTHxHEIGHT in pixels, such as 1920x1080, each from {LEAST} to {MOST}")]
pub struct SizeError;

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let (width, height) = text.split_once('x').ok_or(SizeError)?;
        let side = |text: &str| match text.parse() {
            Ok(side @ LEAST..=MOST) => Ok(side),
            _ => Err(SizeError),
        };
        let (width, height) = (side(width)?, side(height)?);
        Ok(Self { width, height })
    }
}

/// Bounds of the time between two pictures.
const SOONEST: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_secs(24 * 60 * 60);

fn period(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time from 1ms to 86400s, such as 100ms or 2s".to_owned();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    match Duration::try_from_secs_f64(number * unit) {
        Ok(time) if (SOONEST..=LATEST).contains(&time) => Ok(time),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bounded() {
        let size = |width, height| Ok(Size { width, height });
        assert_eq!("1920x1080".parse(), size(1920, 1080));
        assert_eq!("200x4095".parse(), size(200, 4095));
        for wrong in [
            "",
            "x",
            "640",
            "640x",
            "199x200",
            "200x4096",
            "-1x5",
            "1e3x100",
            "640X480",
            "99999999999x99999999999",
            "640x480x2",
            "640 x480",
        ] {
            assert_eq!(wrong.parse::<Size>(), Err(SizeError), "{wrong}");
        }
    }

    #[test]
    fn periods_have_units() {
        for (text, ms) in [("100ms", 100), ("2s", 2000), ("0.5", 500), ("1.5s", 1500)] {
            assert_eq!(period(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for wrong in [
            "", "ms", "s", "0", "-1s", "nan", "inf", "1us", "0.5ms", "2d", "86401",
        ] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }
}
