//! `gil calibrate`: measures a board, for its profile.

use crate::args::CalibrateContentionArgs;
use crate::output::{Output, OutputError};
use crate::signals::Signalled;
use gil_benchmarks::{BenchError, Contended};
use gil_board_client::profile::{Profile, ProfileError};
use gil_run_support::folder;
use gil_run_support::progress::Progress;
use gil_wire::words::Words;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

/// Why nothing is calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The measurement.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Its file.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// `gil calibrate contention`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn contention(args: &CalibrateContentionArgs) -> Result<(), CalibrateError> {
    // What cannot be written is said before time is spent.
    let profile = args.out.as_deref().map(to_extend).transpose()?;
    let contended = measure(args)?;
    // Nobody may be reading.
    let _ = io::stdout().write_all(shown(&contended).as_bytes());
    if let (Some(path), Some(mut profile)) = (&args.out, profile) {
        profile.contention = Some(contended.contention);
        Output::of("--out", path).write(profile.text().as_bytes())?;
    }
    Ok(())
}

/// The profile that is there, or an empty one.
fn to_extend(path: &Path) -> Result<Profile, CalibrateError> {
    Output::of("--out", path).check()?;
    match path.exists() {
        true => Ok(Profile::read(path)?),
        false => Ok(Profile::empty()),
    }
}

fn measure(args: &CalibrateContentionArgs) -> Result<Contended, BenchError> {
    let progress = Progress::new(false);
    let signalled = Signalled::install(&progress)?;
    signalled.ask_children();
    let folder = folder::create()?;
    signalled.remove_at_exit(folder.path().into());
    let measured =
        gil_benchmarks::contention(&args.measured, folder.path(), &|what| progress.say(what));
    progress.clear();
    signalled.comes_first(measured.is_err());
    measured
}

fn shown(contended: &Contended) -> String {
    let Contended {
        contention,
        alone,
        at_once,
    } = contended;
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    format!(
        "{}: {} jobs at once take {:.3} ms each, one alone {:.3} ms\n\
         contention factor {:.3}, the median of {} from {:.3} to {:.3}\n",
        Words::from(contention.device.as_str()),
        contention.processors,
        ms(at_once),
        ms(alone),
        contention.factor,
        contention.repetitions,
        contention.least,
        contention.most,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_board_client::profile::Contention;

    #[test]
    fn the_factor_is_shown_with_its_spread() {
        let contention = Contention {
            factor: 2.095,
            least: 2.061,
            most: 2.17,
            repetitions: 20,
            processors: 4,
            jobs: 800,
            device: "a GPU".into(),
        };
        let text = shown(&Contended {
            contention,
            alone: Duration::from_micros(1460),
            at_once: Duration::from_micros(3059),
        });
        assert_eq!(
            text,
            "a GPU: 4 jobs at once take 3.059 ms each, one alone 1.460 ms\n\
             contention factor 2.095, the median of 20 from 2.061 to 2.170\n"
        );
    }

    #[test]
    fn a_profile_is_extended_and_another_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        assert_eq!(to_extend(&path).unwrap(), Profile::empty());
        std::fs::write(&path, "[package]\n").unwrap();
        assert!(to_extend(&path).is_err());
        assert!(to_extend(&folder.path().join("none/board.toml")).is_err());
    }
}
