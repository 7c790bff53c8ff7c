//! Pictures of the guest's display, by commands to QEMU: those that the guest asks for
//! (`synthetic-driver/uapi/gil_screen.h`), and those of somebody who looks on.

use super::{Kind, Picture, ScreenError};
use crate::simulator::qemu::qmp::{Qmp, QmpError};
use gil_run_support::folder::file;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connects to a QEMU that starts in this run's folder, as long as `is_there` says that
/// it has not ended.
///
/// # Errors
/// [`QmpError`].
pub fn connect(at: &Path, is_there: impl FnMut() -> bool) -> Result<Qmp, QmpError> {
    let qmp = Qmp::connect(&at.join(file::PICTURES), is_there)?;
    qmp.wait_long()?;
    Ok(qmp)
}

/// Has a picture taken each time the guest stops for one, until QEMU ends.
///
/// # Errors
/// [`ScreenError`]; QEMU is asked to end then, since the guest may stand still.
pub fn follow(
    mut qmp: Qmp,
    at: &Path,
    mut take: impl FnMut(Kind, Picture),
) -> Result<(), ScreenError> {
    let followed = follow_to_the_end(&mut qmp, at, &mut take);
    if followed.is_err() {
        let _ = qmp.execute("quit", json!({}));
    }
    followed
}

fn follow_to_the_end(
    qmp: &mut Qmp,
    at: &Path,
    take: &mut impl FnMut(Kind, Picture),
) -> Result<(), ScreenError> {
    // It may have stopped before anybody listened: where it could have been saved.
    let mut is_stopped = is_stopped(qmp)?;
    let mut marks = 0;
    loop {
        if std::mem::take(&mut is_stopped) {
            let kind = kind_of(std::mem::take(&mut marks));
            let picture = kind.map(|kind| picture(qmp, &at.join(file::PICTURE), kind));
            let picture = picture.transpose()?;
            qmp.execute("cont", json!({}))?;
            if let Some((kind, file)) = picture {
                take(kind, Picture::of_ppm(file)?);
            }
        }
        match qmp.event() {
            Ok(event) if event == "GUEST_CRASHLOADED" => marks += 1,
            Ok(event) => is_stopped = event == "STOP",
            Err(QmpError::Ended(_) | QmpError::Connection(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_stopped(qmp: &mut Qmp) -> Result<bool, QmpError> {
    Ok(qmp.execute("query-status", json!({}))?["status"] == "guest-panicked")
}

/// By the number of marks; without any, it was no stop for a picture.
fn kind_of(marks: u32) -> Option<Kind> {
    match marks {
        0 => None,
        1 => Some(Kind::Last),
        _ => Some(Kind::Series),
    }
}

fn picture(qmp: &mut Qmp, path: &Path, kind: Kind) -> Result<(Kind, Vec<u8>), ScreenError> {
    Ok((kind, dump(qmp, path)?))
}

/// The screen, as a PPM file.
fn dump(qmp: &mut Qmp, path: &Path) -> Result<Vec<u8>, ScreenError> {
    let arguments = json!({"filename": path, "format": "ppm"});
    qmp.execute("screendump", arguments)?;
    Ok(fs::read(path).map_err(super::PictureError::Read)?)
}

/// How long somebody who looks on waits for QEMU.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a picture is new enough for somebody who looks on.
const FRESH: Duration = Duration::from_millis(50);

/// What somebody who looks on sees, at any time.
pub struct View {
    /// The run's folder.
    at: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    qmp: Option<Qmp>,
    /// The newest picture, as PNG.
    shown: Option<(Instant, Vec<u8>)>,
}

impl View {
    /// Of the QEMU in this run's folder.
    pub fn of(at: &Path) -> Self {
        Self {
            at: at.into(),
            state: Mutex::default(),
        }
    }

    /// The screen now.
    ///
    /// # Errors
    /// [`ScreenError`] if QEMU does not give it.
    pub fn take(&self) -> Result<Picture, ScreenError> {
        self.take_with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A PNG file of the screen, now or a moment ago.
    ///
    /// # Errors
    /// [`ScreenError`] if QEMU does not give it.
    pub fn png(&self) -> Result<Vec<u8>, ScreenError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, png)) = &state.shown
            && when.elapsed() < FRESH
        {
            return Ok(png.clone());
        }
        let png = self.take_with(&mut state)?.png()?;
        state.shown = Some((Instant::now(), png.clone()));
        Ok(png)
    }

    fn take_with(&self, state: &mut State) -> Result<Picture, ScreenError> {
        let mut qmp = match state.qmp.take() {
            Some(qmp) => qmp,
            None => self.connect()?,
        };
        let file = dump(&mut qmp, &self.at.join(file::VIEW))?;
        state.qmp = Some(qmp);
        Ok(Picture::of_ppm(file)?)
    }

    fn connect(&self) -> Result<Qmp, QmpError> {
        Qmp::connect_within(PATIENCE, &self.at.join(file::VIEWS), || true)
    }
}
