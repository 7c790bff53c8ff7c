//! `gil kernel`: information about the guest's kernel, its functions, and an ELF file of
//! it for gem5.

use crate::args::KernelArgs;
use gil_detect::kernel_image::{ImageError, KernelImage};
use gil_guest_image::apt::AptError;
use gil_guest_image::kernel;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::progress::Progress;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why it cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The stock kernel.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// It is not there, or may not be read.
    #[error("--image {} cannot be read ({source}): name an arm64 Image", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The image.
    #[error("{}: {error}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with the Image.
        error: ImageError,
    },
    /// Standard output.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// Tells about the kernel, or writes what was asked for.
///
/// # Errors
/// [`KernelError`].
pub fn run(args: &KernelArgs) -> Result<(), KernelError> {
    let path = match &args.image {
        Some(path) => readable(path)?,
        None => stock()?,
    };
    let image = open(&path)?;
    if let Some(target) = &args.elf {
        write_elf(&path, &image, target)?;
    }
    let printed = match (args.symbols, &args.elf) {
        (true, _) => print_symbols(&image),
        (false, None) => print_summary(&path, &image),
        (false, Some(_)) => Ok(()),
    };
    match printed {
        // As `head` leaves it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn readable(path: &Path) -> Result<PathBuf, KernelError> {
    let path = path.to_owned();
    match fs::File::open(&path) {
        Ok(_) => Ok(path),
        Err(source) => Err(KernelError::Unreadable { path, source }),
    }
}

fn open(path: &Path) -> Result<KernelImage, KernelError> {
    KernelImage::open(path).map_err(|error| KernelError::Image {
        path: path.into(),
        error,
    })
}

fn write_elf(path: &Path, image: &KernelImage, target: &Path) -> Result<(), KernelError> {
    let elf = image.to_elf().map_err(|error| KernelError::Image {
        path: path.into(),
        error,
    })?;
    fs::write(target, elf).at(target)?;
    Ok(())
}

/// Makes an ELF file at `target`, with its symbols, of the kernel at `path`.
///
/// # Errors
/// [`KernelError`] if `path` is not a kernel whose symbols can be recovered.
pub fn make_elf(path: &Path, target: &Path) -> Result<(), KernelError> {
    write_elf(path, &open(path)?, target)
}

fn stock() -> Result<PathBuf, KernelError> {
    let cache = Cache::open()?;
    let progress = Progress::new(false);
    let kernel = kernel::ensure(&cache, &progress);
    progress.clear();
    Ok(kernel?.image)
}

fn print_symbols(image: &KernelImage) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for symbol in image.symbols() {
        writeln!(
            out,
            "{:016x} {} {}",
            symbol.address, symbol.kind, symbol.name
        )?;
    }
    out.flush()
}

fn print_summary(path: &Path, image: &KernelImage) -> io::Result<()> {
    let addresses = image.addresses();
    let functions = image.symbols().iter().filter(|one| one.is_function());
    let mut out = io::stdout().lock();
    writeln!(out, "kernel     {}", path.display())?;
    writeln!(
        out,
        "addresses  {:#x}..{:#x}",
        addresses.start, addresses.end
    )?;
    writeln!(
        out,
        "symbols    {}, of which {} are functions",
        image.symbols().len(),
        functions.count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_is_not_there_is_named_once() {
        let error = readable(Path::new("/nowhere/Image"))
            .unwrap_err()
            .to_string();
        assert_eq!(error.matches("/nowhere/Image").count(), 1, "{error}");
        assert!(error.ends_with("): name an arm64 Image"), "{error}");
    }
}
