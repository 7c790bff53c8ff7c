//! Pictures of the guest's display: `--screen`, `--screen-every`, `--display`.
//!
//! | module | what |
//! |---|---|
//! | [`pictures`] | the commands to the simulator that take them |
//! | [`picture`] | a picture: from the simulator's form to PNG |
//! | [`album`] | the files that the user asked for |
//! | [`page`] | what a browser on this machine gets |

mod album;
mod page;
mod picture;
mod pictures;

use crate::args::RunArgs;
use crate::output::OutputError;
use crate::say::{READ_WITHIN, say};
use crate::simulator::SimulatorError;
use crate::simulator::qemu::qmp::QmpError;
use album::Album;
use gil_report::Exit;
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pictures::View;

pub use picture::{Picture, PictureError};

/// Why a picture is not there.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The simulator does not give it.
    #[error("{0}: run it again without --screen and --display")]
    Qmp(#[from] QmpError),
    /// What it gives is none.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The file.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The guest asked for none.
    #[error(
        "the guest ended without a picture of its display: see what its kernel says (--console)"
    )]
    None,
    /// The page.
    #[error("the page of --display cannot be served on this machine's loopback: {0}")]
    Page(io::Error),
}

/// What a picture that the guest asks for is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is the last one, unless a later one is.
    Last,
    /// It is one of those at regular times.
    Series,
}

/// A display that is watched.
pub struct Screen {
    album: Arc<Mutex<Album>>,
    watching: JoinHandle<()>,
    view: Arc<View>,
}

/// Looks whether the files that `args` name can be written.
///
/// # Errors
/// [`OutputError`] if not.
pub fn check(args: &RunArgs) -> Result<(), OutputError> {
    Album::of(&args.display).map_or(Ok(()), |album| album.check())
}

impl Screen {
    /// Watches the display of a QEMU that starts in this run's folder, if `args` have
    /// one.
    ///
    /// # Errors
    /// [`SimulatorError`] if it does not take commands.
    pub fn watch(
        args: &RunArgs,
        at: &Path,
        process: &mut Owned,
    ) -> Result<Option<Self>, SimulatorError> {
        let Some(album) = Album::of(&args.display) else {
            return Ok(None);
        };
        let qmp = match pictures::connect(at, || process.ended().is_none()) {
            // Its log says why.
            Err(_) if process.ends_within(Duration::from_secs(1)) => return Ok(None),
            other => other?,
        };
        let album = Arc::new(Mutex::new(album));
        let (kept, place) = (album.clone(), at.to_owned());
        let watching = thread::spawn(move || {
            let followed = pictures::follow(qmp, &place, |kind, picture| {
                lock(&kept).take(kind, picture);
            });
            lock(&kept).failed(followed.err());
        });
        let view = Arc::new(View::of(at));
        let screen = Self {
            album,
            watching,
            view,
        };
        Ok(Some(screen))
    }

    /// Serves the page, if it is asked for, and says where.
    ///
    /// # Errors
    /// [`ScreenError::Page`].
    pub fn serve(&self, args: &RunArgs, progress: &Progress) -> Result<(), ScreenError> {
        if !args.display.display {
            return Ok(());
        }
        let view = self.view.clone();
        let address = page::serve(move || view.png().ok()).map_err(ScreenError::Page)?;
        progress.clear();
        let text = format!("gil: the guest's display is at {address}\n");
        say(text.as_bytes(), args.timeout.map(|_| READ_WITHIN));
        Ok(())
    }

    /// Takes the last picture of a guest that is ended before its program did.
    pub fn before_an_early_end(&self) {
        if let Ok(picture) = self.view.take() {
            lock(&self.album).take(Kind::Last, picture);
        }
    }

    /// Writes the last picture, with QEMU gone. What fails is the run's end, if the
    /// program's was a success; else it is only said.
    pub fn deliver(self, exit: &mut Exit) {
        let _ = self.watching.join();
        let Err(error) = lock(&self.album).finish(exit.code == 0) else {
            return;
        };
        match exit.code {
            0 => *exit = Exit::bridge(error.to_string()),
            _ => say(format!("gil: {error}\n").as_bytes(), Some(READ_WITHIN)),
        }
    }
}

fn lock(album: &Mutex<Album>) -> MutexGuard<'_, Album> {
    album.lock().unwrap_or_else(PoisonError::into_inner)
}
