//! The files of a display's pictures: the last one, and those at regular times.

use super::{Kind, Picture, ScreenError};
use crate::args::DisplayOptions;
use crate::output::{Output, OutputError};
use std::path::{Path, PathBuf};

const SCREEN: &str = "--screen";
const SERIES: &str = "--screen-every";

/// Pictures, as they come.
#[derive(Default)]
pub struct Album {
    /// Where the last one goes.
    out: Option<PathBuf>,
    has_series: bool,
    /// Those of the series so far.
    count: u32,
    last: Option<Picture>,
    /// What failed first.
    error: Option<ScreenError>,
}

impl Album {
    /// As the options have it, if the guest has a display.
    pub fn of(options: &DisplayOptions) -> Option<Self> {
        options.is_wanted().then(|| Self {
            out: options.screen.clone(),
            has_series: options.screen_every.is_some(),
            ..Self::default()
        })
    }

    /// Looks whether its files can be written.
    ///
    /// # Errors
    /// [`OutputError`] if not.
    pub fn check(&self) -> Result<(), OutputError> {
        let Some(out) = &self.out else {
            return Ok(());
        };
        Output::of(SCREEN, out).check()?;
        match self.has_series {
            true => Output::of(SERIES, &numbered(out, 1)).check(),
            false => Ok(()),
        }
    }

    /// One more. What fails is kept until the end.
    pub fn take(&mut self, kind: Kind, picture: Picture) {
        match kind {
            Kind::Last => self.last = Some(picture),
            Kind::Series if self.has_series && self.error.is_none() => {
                self.count += 1;
                let written = self.write_next(&picture);
                self.failed(written.err());
            }
            // The guest was not asked for it, or it cannot be written.
            Kind::Series => {}
        }
    }

    fn write_next(&self, picture: &Picture) -> Result<(), ScreenError> {
        let Some(out) = &self.out else {
            return Ok(());
        };
        let path = numbered(out, self.count);
        Ok(Output::of(SERIES, &path).write(&picture.png()?)?)
    }

    /// What fails first counts.
    pub fn failed(&mut self, error: Option<ScreenError>) {
        self.error = self.error.take().or(error);
    }

    /// Writes the last picture; `is_expected`: it is an error if there is none.
    ///
    /// # Errors
    /// What failed first, now or before.
    pub fn finish(&mut self, is_expected: bool) -> Result<(), ScreenError> {
        let written = match (&self.out, &self.last) {
            (None, _) => Ok(()),
            (Some(out), Some(last)) => write(out, last),
            (Some(_), None) if is_expected => Err(ScreenError::None),
            (Some(_), None) => Ok(()),
        };
        self.error.take().map_or(written, Err)
    }
}

fn write(out: &Path, picture: &Picture) -> Result<(), ScreenError> {
    Ok(Output::of(SCREEN, out).write(&picture.png()?)?)
}

/// `a.png` becomes `a-0001.png`.
fn numbered(out: &Path, number: u32) -> PathBuf {
    let mut name = out.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number:04}"));
    if let Some(extension) = out.extension() {
        name.push(".");
        name.push(extension);
    }
    out.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn picture(shade: u8) -> Picture {
        Picture::of_ppm([b"P6\n1 1\n255\n", &[shade; 3][..]].concat()).unwrap()
    }

    fn album(out: &Path, has_series: bool) -> Album {
        Album {
            out: Some(out.into()),
            has_series,
            ..Album::default()
        }
    }

    #[test]
    fn the_last_of_the_last_and_all_of_the_series_are_written() {
        let work = tempfile::tempdir().unwrap();
        let out = work.path().join("a.png");
        let mut all = album(&out, true);
        for (kind, shade) in [
            (Kind::Last, 1),
            (Kind::Series, 2),
            (Kind::Last, 3),
            (Kind::Series, 4),
        ] {
            all.take(kind, picture(shade));
        }
        all.finish(true).unwrap();
        for (name, shade) in [("a.png", 3), ("a-0001.png", 2), ("a-0002.png", 4)] {
            let file = fs::read(work.path().join(name)).unwrap();
            assert_eq!(file, picture(shade).png().unwrap(), "{name}");
        }
    }

    #[test]
    fn a_series_that_nobody_wants_is_not_written() {
        let work = tempfile::tempdir().unwrap();
        let out = work.path().join("a.png");
        let mut all = album(&out, false);
        all.take(Kind::Series, picture(1));
        assert!(matches!(all.finish(true), Err(ScreenError::None)));
        assert!(all.finish(false).is_ok());
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let mut all = album(Path::new("/dev/full"), false);
        all.check().unwrap();
        all.take(Kind::Last, picture(1));
        assert!(matches!(all.finish(true), Err(ScreenError::Output(_))));
        let error = album(Path::new("/nowhere/a.png"), true).check();
        assert!(error.unwrap_err().to_string().contains("--screen /nowhere"));
    }

    #[test]
    fn numbers_stand_before_the_extension() {
        for (out, numbered_out) in [
            ("a/b.png", "a/b-0012.png"),
            ("b", "b-0012"),
            (".b", ".b-0012"),
        ] {
            assert_eq!(numbered(Path::new(out), 12), Path::new(numbered_out));
        }
    }
}
