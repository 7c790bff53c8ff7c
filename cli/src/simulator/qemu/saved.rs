//! Guests that have booted, saved in the cache: one for each QEMU, machine, kernel
//! and initramfs. A run continues one, with a copy-on-write mapping of its RAM.

use super::machine::{Life, Machine};
use super::qmp::{Qmp, QmpError};
use super::version::{self, QemuError};
use gil_run_support::cache::{self, At, Cache, CacheError, CacheLock};
use gil_run_support::folder::{create_file, file};
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use nix::sys::signal::Signal;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

/// Why a guest is not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// QEMU refuses a command.
    #[error(transparent)]
    Qmp(#[from] QmpError),
    /// QEMU could not be started.
    #[error("QEMU cannot be started: {0}")]
    Start(io::Error),
    /// QEMU writes its guest's RAM into a file.
    #[error(
        "the disk that holds {} became full: make room there, or point GIL_CACHE to another disk",
        .0.display()
    )]
    Full(PathBuf),
    /// The guest's kernel does not come to its end.
    #[error(
        "the guest did not boot within {} s: if its kernel in the cache is damaged, \
         `gil cache prune --keep 0` removes it; `gil run --boot` boots without a limit",
        BOOTS_WITHIN.as_secs()
    )]
    Slow,
    /// QEMU says why it could not save the guest.
    #[error("QEMU could not save the guest: {0}")]
    Failed(String),
}

/// The cache's folder of them.
const FOLDER: &str = "saved-guests";
/// Changed where what is saved changes without its machine.
const FORMAT: u32 = 3;
/// Files of a saved guest.
const RAM: &str = "ram";
const STATE: &str = "state";
const SUMS: &str = "sums";
/// Of so many, the one that was used longest ago goes.
const KEPT: usize = 8;
/// Beside its RAM, what QEMU saves of a guest, generously.
const STATE_BYTES: u64 = 64 << 20;
/// What a booted guest has written of its RAM, generously: the kernel, the
/// initramfs, and their own memory.
const RAM_BYTES: u64 = 256 << 20;
/// How long a boot may take. It takes two seconds.
const BOOTS_WITHIN: Duration = Duration::from_secs(120);
/// How often QEMU is asked whether it is done.
const SLICE: Duration = Duration::from_millis(5);

/// Puts the saved guest of this machine into the run's folder, where the kernel
/// and the initramfs are; boots and saves it first, if there is none or it is
/// damaged.
///
/// # Errors
/// [`SaveError`].
pub fn ensure(machine: &Machine, at: &Path, progress: &Progress) -> Result<(), SaveError> {
    let cache = Cache::open()?;
    let key = key(machine, at)?;
    let name = Path::new(FOLDER).join(&key);
    let place = cache.root().join(&name);
    if !(cache.is_used(&place) && is_whole(&place, &key)) {
        let lock = cache.lock(progress)?;
        if !(cache.is_used(&place) && is_whole(&place, &key)) {
            discard(&place)?;
            discard_oldest(&cache, &lock);
            cache::has_room(cache.root(), RAM_BYTES + STATE_BYTES)?;
            progress.say("booting the guest once, for this run and later ones");
            cache.publish(&lock, &name, |to| save(machine, &key, at, to))?;
        }
    }
    for (saved, link) in [(RAM, file::SAVED_RAM), (STATE, file::SAVED_STATE)] {
        symlink(place.join(saved), at.join(link)).at(&place)?;
    }
    Ok(())
}

/// Has a QEMU that was started for it continue what [`ensure`] laid out.
///
/// # Errors
/// [`QmpError`].
pub fn resume(at: &Path, is_there: impl FnMut() -> bool) -> Result<(), QmpError> {
    let mut qmp = Qmp::connect(&at.join(file::QMP), is_there)?;
    leave_ram(&mut qmp)?;
    let uri = format!("file:{}", at.join(file::SAVED_STATE).display());
    qmp.execute("migrate-incoming", json!({ "uri": uri }))?;
    Ok(())
}

/// RAM is in a file of its own.
fn leave_ram(qmp: &mut Qmp) -> Result<(), QmpError> {
    let capability = json!({"capability": "x-ignore-shared", "state": true});
    qmp.execute(
        "migrate-set-capabilities",
        json!({"capabilities": [capability]}),
    )?;
    Ok(())
}

/// What tells it from others.
fn key(machine: &Machine, at: &Path) -> Result<String, SaveError> {
    let command = machine.command(Path::new(""), Life::IsSaved);
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let kernel = fs::metadata(at.join(file::KERNEL)).at(at)?;
    let kernel = (kernel.len(), kernel.modified().at(at)?);
    let initrd = at.join(file::INITRD);
    let initrd = fs::read(&initrd).at(&initrd)?;
    let qemu = version::identity()?;
    Ok(cache::key(&(FORMAT, qemu, words, kernel, initrd)))
}

fn save(machine: &Machine, key: &str, at: &Path, to: &Path) -> Result<(), SaveError> {
    let ram = at.join(file::SAVED_RAM);
    // QEMU takes the name of the file from here, which has no comma.
    let made = create_file(&to.join(RAM)).at(to)?;
    made.set_len(machine.memory).at(to)?;
    symlink(to.join(RAM), &ram).at(&ram)?;
    let saved = boot_and_save(machine, at, to);
    let _ = fs::remove_file(&ram);
    let _ = fs::remove_file(at.join(file::QMP));
    let _ = fs::remove_file(at.join(file::TABLE));
    saved?;
    Ok(write_sums(to, key).at(to)?)
}

fn boot_and_save(machine: &Machine, at: &Path, to: &Path) -> Result<(), SaveError> {
    let log = at.join(file::QEMU_LOG);
    let said = create_file(&log).at(&log)?;
    let copy = said.try_clone().map_err(SaveError::Start)?;
    let mut command = machine.command(at, Life::IsSaved);
    command.stdin(Stdio::null()).stdout(copy).stderr(said);
    let mut process = Owned::start(&mut command).map_err(SaveError::Start)?;
    let saved = save_booted(&mut process, at, to);
    let died_of = process.ended().and_then(|status| status.signal());
    if saved.is_err() && died_of == Some(Signal::SIGBUS as i32) {
        return Err(SaveError::Full(to.into()));
    }
    saved.map_err(|error| match fs::read_to_string(&log) {
        Ok(said) if !said.trim().is_empty() => SaveError::Failed(last_line(&said)),
        _ => error,
    })
}

fn last_line(said: &str) -> String {
    said.trim().lines().last().unwrap_or_default().into()
}

fn save_booted(process: &mut Owned, at: &Path, to: &Path) -> Result<(), SaveError> {
    let is_there = || process.ended().is_none();
    let mut qmp = Qmp::connect_within(BOOTS_WITHIN, &at.join(file::QMP), is_there)?;
    if qmp.execute("query-status", json!({}))?["running"] == true {
        qmp.wait_for("STOP").map_err(|error| match error {
            QmpError::Connection(error) if error.kind() == io::ErrorKind::WouldBlock => {
                SaveError::Slow
            }
            error => error.into(),
        })?;
    }
    leave_ram(&mut qmp)?;
    let uri = format!("file:{}", to.join(STATE).display());
    qmp.execute("migrate", json!({ "uri": uri }))?;
    loop {
        let answer = qmp.execute("query-migrate", json!({}))?;
        match answer["status"].as_str() {
            Some("completed") => break,
            Some("failed" | "cancelled") => {
                let why = answer["error-desc"]
                    .as_str()
                    .unwrap_or("it does not say why");
                return Err(SaveError::Failed(why.into()));
            }
            _ => std::thread::sleep(SLICE),
        }
    }
    qmp.execute("quit", json!({}))?;
    process.ends_within(Duration::from_secs(10));
    Ok(())
}

/// Whether it is there, as it was written, and that of this key.
fn is_whole(place: &Path, key: &str) -> bool {
    let Ok(written) = fs::read_to_string(place.join(SUMS)) else {
        return false;
    };
    let Some((written, stamps_then)) = written.split_once(BEHIND_SUMS) else {
        return false;
    };
    // Files that nobody wrote to since are not read: it takes longer than all else here.
    let is_untouched = stamps(place).is_ok_and(|stamps| stamps == stamps_then);
    match written.split_once('\n') {
        Some((of, _)) if of == key && is_untouched => true,
        _ => sums(place, key).is_ok_and(|sums| sums == written),
    }
}

/// Writes what it is, and its files.
fn write_sums(place: &Path, key: &str) -> io::Result<()> {
    let sums = sums(place, key)?;
    // The clock of files ticks: a change from now on has another time than the last one.
    std::thread::sleep(TICKS);
    let text = format!("{sums}{BEHIND_SUMS}{}", stamps(place)?);
    fs::write(place.join(SUMS), text)
}

/// Longer than a tick of any Linux.
const TICKS: Duration = Duration::from_millis(20);
/// Between the sums and the stamps.
const BEHIND_SUMS: &str = "untouched:\n";

/// Which files it has, how long they are, and when each was changed last, which no
/// program can set.
fn stamps(place: &Path) -> io::Result<String> {
    let stamp = |name| {
        let data = fs::metadata(place.join(name))?;
        let at = (data.ctime(), data.ctime_nsec());
        io::Result::Ok(format!("{name} {} {} {at:?}\n", data.ino(), data.len()))
    };
    [RAM, STATE].into_iter().map(stamp).collect()
}

/// What it is, lengths and checksums of its files.
fn sums(place: &Path, key: &str) -> io::Result<String> {
    let mut text = format!("{key}\n");
    for name in [RAM, STATE] {
        let file = File::open(place.join(name))?;
        let len = file.metadata()?.len();
        text += &format!("{name} {len} {:08x}\n", checksum(file, len)?);
    }
    Ok(text)
}

/// Of a file's bytes where they are, not of the holes between them, which are most
/// of it.
fn checksum(mut file: File, len: u64) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut at = 0;
    while let Some((from, to)) = next_data(&file, at, len)? {
        hasher.update(&from.to_le_bytes());
        file.seek(SeekFrom::Start(from))?;
        let mut rest = (&mut file).take(to - from);
        loop {
            let count = rest.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
        }
        at = to;
    }
    Ok(hasher.finalize())
}

/// The next part of a file, from `at` on, that is no hole.
fn next_data(file: &File, at: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek};
    if at >= len {
        return Ok(None);
    }
    let from = match lseek(file, at.cast_signed(), Whence::SeekData) {
        Ok(from) => from,
        Err(Errno::ENXIO) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let to = lseek(file, from, Whence::SeekHole)?;
    Ok(Some((from.cast_unsigned(), to.cast_unsigned())))
}

fn discard(place: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(place),
        _ => Ok(()),
    }
}

/// Leaves a place for one more, but none that a run is about to continue.
fn discard_oldest(cache: &Cache, lock: &CacheLock) {
    let folder = cache.root().join(FOLDER);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort();
    let many = (found.len() + 1).saturating_sub(KEPT);
    for (_, path) in &found[..many] {
        let _ = cache.discard(lock, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{Flock, FlockArg};
    use std::os::unix::fs::FileExt;

    const KEY: &str = "0123";

    fn guest(at: &Path) {
        fs::create_dir(at).unwrap();
        let ram = File::create(at.join(RAM)).unwrap();
        ram.set_len(1 << 30).unwrap();
        ram.write_all_at(&[1; 5000], 1 << 20).unwrap();
        ram.write_all_at(&[2; 10], 1 << 29).unwrap();
        fs::write(at.join(STATE), [3; 1000]).unwrap();
        write_sums(at, KEY).unwrap();
    }

    #[test]
    fn a_damaged_one_is_none() {
        let work = tempfile::tempdir().unwrap();
        let at = work.path().join("guest");
        assert!(!is_whole(&at, KEY));
        let damage: [&dyn Fn(&File); 5] = [
            &|ram| ram.write_all_at(&[4], 1 << 20).unwrap(),
            &|ram| ram.write_all_at(&[4], (1 << 29) + 9).unwrap(),
            &|ram| ram.write_all_at(&[4], 7 << 20).unwrap(),
            &|ram| ram.set_len(1 << 29).unwrap(),
            &|_| fs::write(at.join(STATE), [3; 999]).unwrap(),
        ];
        for (number, damage) in damage.iter().enumerate() {
            guest(&at);
            assert!(is_whole(&at, KEY));
            assert!(!is_whole(&at, "another's"));
            damage(&File::options().write(true).open(at.join(RAM)).unwrap());
            assert!(!is_whole(&at, KEY), "{number}");
            fs::remove_dir_all(&at).unwrap();
        }
    }

    #[test]
    fn the_oldest_go_unless_a_run_is_about_to_continue_them() {
        let work = tempfile::tempdir().unwrap();
        let cache = Cache::at(work.path(), u64::MAX).unwrap();
        let folder = work.path().join(FOLDER);
        for number in 0..KEPT as u64 + 2 {
            let path = folder.join(number.to_string());
            fs::create_dir_all(&path).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(100 - number);
            File::open(&path).unwrap().set_modified(time).unwrap();
        }
        // As another process does, which noted its use before.
        let other = File::open(folder.join("8")).unwrap();
        let other = Flock::lock(other, FlockArg::LockSharedNonblock).map_err(|(_, errno)| errno);
        assert!(other.is_ok());
        let lock = cache.lock(&Progress::new(true)).unwrap();
        discard_oldest(&cache, &lock);
        let mut left: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["0", "1", "2", "3", "4", "5", "6", "8"]);
    }
}
