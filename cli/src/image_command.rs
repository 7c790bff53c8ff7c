//! `gil image`: the guest of a run as files, for a simulator that is started by hand.

use crate::args::ImageArgs;
use crate::kernel_command::{self, KernelError};
use crate::signals::Signalled;
use gil_guest_image::apt::AptError;
use gil_guest_image::assets::HostPart;
use gil_guest_image::full_system::{FullSystem, Place, Reaches};
use gil_guest_image::guest::{self, GuestError};
use gil_guest_image::memory::{self, MemoryError};
use gil_guest_image::placed::{self, PlaceError};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::file;
use gil_run_support::progress::Progress;
use std::fs;
use std::io::{self, Write as _};

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// An error in the guest's contents.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// What is copied into the guest.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Packages, the kernel or the driver.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// The kernel's ELF file.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No machine has the memory for it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Signals cannot be caught.
    #[error("signals cannot be handled ({0}): try again")]
    Signals(io::Error),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Writes the kernel and the initramfs into the folder; says how much memory they need.
///
/// # Errors
/// [`ImageError`]; the folder then has what it had before.
pub fn run(args: &ImageArgs) -> Result<(), ImageError> {
    let progress = Progress::new(args.quiet);
    let signalled = Signalled::install(&progress).map_err(ImageError::Signals)?;
    let memory = make(args, &progress, &signalled);
    signalled.comes_first(memory.is_err());
    progress.clear();
    let (memory, folder) = (memory? >> 20, args.folder.display());
    if !args.quiet {
        let (kernel, initrd) = (file::KERNEL_ELF, file::INITRD);
        // The files are there, whoever reads this.
        let _ = writeln!(
            io::stdout(),
            "{folder} has {kernel} and {initrd}, for a guest with {memory} MiB or more"
        );
    }
    Ok(())
}

/// Bytes of memory that the guest needs.
fn make(args: &ImageArgs, progress: &Progress, signalled: &Signalled) -> Result<u64, ImageError> {
    placed::check(&args.files)?;
    let guest = guest::prepare(&args.wanted(), HostPart::Gem5Scripts, progress)?;
    let reaches = Reaches::default();
    let system = FullSystem::prepare(&guest, Place::Initramfs, args.detect, reaches, progress)?;
    progress.say("writing the guest's image");
    let folder = &args.folder;
    fs::create_dir_all(folder).at(folder)?;
    for name in [file::KERNEL_ELF, file::INITRD] {
        let to = folder.join(name);
        if to.is_dir() {
            Err(io::Error::from(io::ErrorKind::IsADirectory)).at(&to)?;
        }
    }
    let work = tempfile::tempdir_in(folder).at(folder)?;
    signalled.remove_at_exit(work.path().into());
    let sizes = system.lay_out(&args.start(), &guest, work.path())?;
    let memory = memory::choose(None, sizes)?;
    let elf = work.path().join(file::KERNEL_ELF);
    kernel_command::make_elf(&system.kernel.image, &elf)?;
    // As any new file of this user's: the initramfs was made as a run's own.
    let initrd = work.path().join(file::INITRD);
    let mode = fs::metadata(&elf).at(&elf)?.permissions();
    fs::set_permissions(&initrd, mode).at(&initrd)?;
    for name in [file::KERNEL_ELF, file::INITRD] {
        let to = folder.join(name);
        fs::rename(work.path().join(name), &to).at(&to)?;
    }
    Ok(memory)
}
