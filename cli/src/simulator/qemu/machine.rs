//! The machine that QEMU simulates: one CPU, whose time is its instructions, RAM,
//! and behind that disks in memory. It is the same for a guest that boots, for one
//! that boots to be saved, and for the saved one that continues, as far as the
//! guest's kernel can see.

use super::device_tree;
use super::version::{DISPLAY, GPU, GPU_DISPLAY, PROGRAM, QemuError};
use crate::args::{Network, SERVERS, Size};
use crate::reach;
use crate::simulator::SimulatorError;
use gil_guest_image::gpu::Model;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::{create_file, file};
use gil_run_support::tool;
use gil_uapi::disks::{Disk, Disks, MAX};
use gil_uapi::{GuestAddress, GuestLength};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use zerocopy::IntoBytes;

/// `panic=-1`: a panic reboots at once, and `-no-reboot` ends QEMU then.
/// The next two leave out what takes most of this kernel's boot and
/// serves no program: the cipher self-tests, the certificates that modules
/// could be signed with, and the tracer of block devices. The last three are
/// what wakes an idle kernel most: the search for fragmented memory, the watchdog
/// of CPUs, and the averages in `/proc/pressure`. QEMU passes over idle time from
/// one wake-up to the next, so a program's sleep takes wall time by their number.
const KERNEL_COMMAND_LINE: &str = "console=ttyAMA0 quiet nokaslr panic=-1 oops=panic \
     random.trust_bootloader=on cryptomgr.notests=1 \
     initcall_blacklist=load_system_certificate_list,init_blk_tracer \
     sysctl.vm.compaction_proactiveness=0 nowatchdog psi=0";

/// With a display: no cursor blinks on the kernel's console, which would wake an idle
/// kernel five times a second, and be in pictures.
const CONSOLE_OPTIONS: &str = "vt.global_cursor_default=0";

/// Where this machine's RAM begins: hw/arm/virt.c of QEMU, `VIRT_MEM`.
const RAM: u64 = 0x4000_0000;

/// Bytes of what lies between the RAM and the disks: of the largest pages, so that
/// what is behind it begins at one.
const STEP: u64 = 2 << 20;

/// What becomes of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It boots, and runs its program. All disks are the file [`file::DISKS`].
    Boots,
    /// It boots up to the point where it can be saved. It has no disks; its RAM
    /// is the file [`file::SAVED_RAM`], and it takes commands. It leaves a file
    /// [`file::TABLE`], of zeroes.
    IsSaved,
    /// It continues from there, with its disks. It takes commands.
    Continues,
}

/// A machine.
#[derive(Debug)]
pub struct Machine {
    /// As QEMU names the CPU.
    pub cpu: String,
    /// Bytes of RAM.
    pub memory: u64,
    /// Each disk's file in the run's folder, and its bytes.
    pub disks: Vec<(String, u64)>,
    /// What it reaches over a network.
    pub network: Option<Network>,
    /// Its display's size.
    pub display: Option<Size>,
    /// Whether it has a GPU of QEMU's own.
    pub gpu: bool,
    /// The GPU whose registers are the end of its RAM.
    pub registers: Option<Model>,
}

/// Bytes of RAM that a GPU's registers take.
const REGISTERS: u64 = 64 << 10;

impl Machine {
    /// How QEMU is called for it; all files are in `folder`.
    pub fn command(&self, folder: &Path, life: Life) -> Command {
        let at = |name: &str| folder.join(name).display().to_string();
        let mut command = Command::new(PROGRAM);
        command.args(["-M", "virt,dtb-randomness=off"]);
        self.memory_options(&mut command, folder, life);
        command
            .args(["-cpu", &self.cpu])
            .args(["-smp", "1", "-icount", self.clock()])
            // Nothing of this machine, not even its date, reaches the guest: the
            // same run gives the same times.
            .args(["-rtc", "base=2025-01-01,clock=vm", "-seed", "1"])
            .args(["-monitor", "none"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            // Where `gil_disk.ko` writes, this machine can be saved.
            .args(["-device", "pvpanic-pci,addr=1"])
            .args(["-serial", &format!("file:{}", at(file::CONSOLE))]);
        if let Some(network) = &self.network {
            let reach = folder.join(reach::NAME);
            command.args(["-netdev", &netdev(network, &reach, life)]);
            command.args(["-device", "virtio-net-device,netdev=net"]);
        }
        if let Some(size) = self.display {
            command.args(["-device", &display(size)]);
        }
        self.gpu_options(&mut command);
        if self.registers.is_some() {
            command.args(["-dtb", &at(file::DEVICE_TREE)]);
        }
        if life != Life::Continues {
            command
                .args(["-kernel", &at(file::KERNEL), "-initrd", &at(file::INITRD)])
                .args(["-append", &self.kernel_command_line()]);
        }
        for name in self.monitors(life) {
            let socket = format!("socket,id={name},server=on,wait=off,path={}", at(name));
            let monitor = format!("chardev={name},mode=control");
            command.args(["-chardev", &socket, "-mon", &monitor]);
        }
        command.args(self.actions(life));
        command
    }

    /// A GPU draws with this machine's OpenGL, for which SDL needs no screen.
    fn gpu_options(&self, command: &mut Command) {
        if self.gpu {
            command
                .args(["-device", &format!("{GPU},addr=2,ioeventfd=off")])
                .args(["-display", &format!("{GPU_DISPLAY},gl=on")])
                .env("SDL_VIDEODRIVER", "offscreen");
        } else {
            command.args(["-display", "none"]);
        }
    }

    /// What QEMU does where `gil_disk.ko` and `gil_screen.ko` write, and as it begins.
    fn actions(&self, life: Life) -> &'static [&'static str] {
        match (life, self.display.is_some()) {
            (Life::Boots, false) => &["-action", "panic=none"],
            (Life::Boots, true) => &["-action", "panic=pause"],
            // What was saved begins to run, whatever it was stopped for.
            (Life::IsSaved, _) => &[
                "-action",
                "panic=pause",
                "-global",
                "migration.store-global-state=off",
            ],
            (Life::Continues, false) => &["-action", "panic=none", "-incoming", "defer"],
            (Life::Continues, true) => &["-action", "panic=pause", "-incoming", "defer"],
        }
    }

    /// Where it takes commands.
    fn monitors(&self, life: Life) -> Vec<&'static str> {
        let pictures = [file::PICTURES, file::VIEWS];
        let pictures = pictures.iter().filter(|_| self.display.is_some());
        match life {
            Life::IsSaved => vec![file::QMP],
            Life::Boots => pictures.copied().collect(),
            Life::Continues => pictures.copied().chain([file::QMP]).collect(),
        }
    }

    /// How time passes: one instruction a nanosecond, and at once where the guest is idle.
    /// One with a network or a GPU idles as long as this machine does, or it would give up
    /// waiting for an answer before that could come.
    fn clock(&self) -> &'static str {
        match self.network.is_some() || self.gpu {
            false => "shift=0,sleep=off",
            true => "shift=0,sleep=on",
        }
    }

    /// Writes the table of disks into the run's folder, and all of them as one for
    /// a machine that boots.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be written; more disks than the table holds
    /// are an error too.
    pub fn write_disks(&self, folder: &Path, life: Life) -> Result<(), CacheError> {
        let path = folder.join(file::TABLE);
        let mut next = self.disks_at(life);
        let mut disks = Vec::new();
        for &(_, len) in &self.disks {
            let (gpa, len) = (GuestAddress(next), GuestLength(len));
            disks.push(Disk { gpa, len });
            next += len.0;
        }
        let many = || io::Error::other(format!("a guest takes {MAX} disks"));
        let table = Disks::new(&disks).ok_or_else(many).at(&path)?;
        let mut out = create_file(&path).at(&path)?;
        out.write_all(table.as_bytes()).at(&path)?;
        out.set_len(STEP).at(&path)?;
        match life {
            Life::Boots => self.write_as_one(folder),
            Life::IsSaved | Life::Continues => Ok(()),
        }
    }

    fn write_as_one(&self, folder: &Path) -> Result<(), CacheError> {
        let path = folder.join(file::DISKS);
        let mut out = create_file(&path).at(&path)?;
        for (name, _) in &self.disks {
            let disk = folder.join(name);
            io::copy(&mut File::open(&disk).at(&disk)?, &mut out).at(&path)?;
        }
        Ok(())
    }

    /// Where the RAM ends that the kernel has.
    pub fn registers_at(&self) -> u64 {
        let len = self.registers.map_or(0, |_| REGISTERS);
        RAM + self.memory - len
    }

    /// Has QEMU write its device tree, and writes the one with the GPU.
    ///
    /// # Errors
    /// [`SimulatorError`].
    pub fn write_device_tree(&self, folder: &Path, life: Life) -> Result<(), SimulatorError> {
        let Some(model) = self.registers else {
            return Ok(());
        };
        let path = folder.join(file::DEVICE_TREE);
        let bare = Self {
            registers: None,
            disks: self.disks.clone(),
            cpu: self.cpu.clone(),
            network: self.network.clone(),
            ..*self
        };
        let mut command = bare.command(folder, life);
        command.args(["-machine", &format!("dumpdtb={}", path.display())]);
        tool::run(&mut command, "asking for its device tree", folder).map_err(QemuError::Tool)?;
        let own = std::fs::read(&path).at(&path)?;
        let tree = device_tree::with_gpu(&own, model, self.registers_at(), REGISTERS);
        let tree = tree.map_err(QemuError::Tree)?;
        std::fs::write(&path, tree).at(&path)?;
        Ok(())
    }

    /// Where the table of disks lies.
    fn table(&self) -> u64 {
        RAM + self.memory
    }

    /// Where the first disk lies.
    fn disks_at(&self, life: Life) -> u64 {
        let behind_table = self.table() + STEP;
        match life {
            Life::Boots | Life::IsSaved => behind_table,
            Life::Continues => behind_table + STEP,
        }
    }

    /// RAM that the host interface reaches; behind it, as what QEMU calls further
    /// NUMA nodes, the table of disks and the disks.
    ///
    /// As it boots, the kernel sees where each node begins, not how long the last
    /// one is: so that it counts the same instructions whether it is saved or not,
    /// it sees three nodes, of which the last is all disks, or nothing. Behind these
    /// a saved guest gets its disks.
    fn memory_options(&self, command: &mut Command, folder: &Path, life: Life) {
        let mut nodes = vec![self.ram(folder, life)];
        nodes.push(match life {
            // Shared: it is not saved, and a table that is there later stays.
            Life::IsSaved => Node::shared("table", STEP, &folder.join(file::TABLE)),
            Life::Boots | Life::Continues => Node::mapped("table", STEP, &folder.join(file::TABLE)),
        });
        nodes.push(match life {
            Life::IsSaved | Life::Continues => Node::empty("last", STEP),
            Life::Boots => {
                let len = self.disks.iter().map(|(_, len)| len).sum();
                Node::mapped("last", len, &folder.join(file::DISKS))
            }
        });
        if life == Life::Continues {
            let disks = self.disks.iter().enumerate();
            let node = |(number, (name, len)): (usize, &(String, u64))| {
                Node::mapped(&format!("disk{number}"), *len, &folder.join(name))
            };
            nodes.extend(disks.map(node));
        }
        let whole: u64 = nodes.iter().map(|node| node.size).sum();
        command.args(["-m", &format!("{whole}B")]);
        for Node { id, object, .. } in nodes {
            command.args(["-object", &object, "-numa", &format!("node,memdev={id}")]);
        }
    }

    fn ram(&self, folder: &Path, life: Life) -> Node {
        let (id, size) = ("ram", self.memory);
        let saved = folder.join(file::SAVED_RAM);
        match life {
            Life::Boots => Node::new(id, size, "memfd", "share=on"),
            Life::IsSaved => Node::shared(id, size, &saved),
            Life::Continues => Node::mapped(id, size, &saved),
        }
    }

    /// The kernel's memory is the RAM alone, without nodes; the place of the table
    /// is for the module that makes disks.
    fn kernel_command_line(&self) -> String {
        let mut line = format!(
            "{KERNEL_COMMAND_LINE} numa=off mem={} gil_disk.at={:#x}",
            self.registers_at() - RAM,
            self.table()
        );
        if self.display.is_some() {
            line = format!("{line} {CONSOLE_OPTIONS}");
        }
        line
    }
}

/// Bytes of the pictures that QEMU keeps for the guest: eight of the largest display.
const PICTURES: u64 = 512 << 20;

/// The adapter, whose memory is the guest's RAM. A command of the guest's is queued
/// before the guest goes on (`ioeventfd=off`): else QEMU could pass over idle time in
/// which the guest waits for its answer.
fn display(Size { width, height }: Size) -> String {
    format!("{DISPLAY},addr=2,ioeventfd=off,max_hostmem={PICTURES},xres={width},yres={height}")
}

/// QEMU's user network. Of the host's ports, each connection is carried by a process of
/// its own; QEMU keeps the guest from all others. A guest that is saved knows none.
fn netdev(network: &Network, reach: &Path, life: Life) -> String {
    let mut option = "user,id=net,ipv6=off".to_owned();
    match network {
        Network::Outside => {}
        Network::Host(_) if life == Life::IsSaved => option += ",restrict=on",
        Network::Host(ports) => {
            option += ",restrict=on";
            for port in ports {
                let command = format!("{} {port}", reach.display());
                option += &format!(",guestfwd=tcp:{SERVERS}:{port}-cmd:{command}");
            }
        }
    }
    option
}

/// Memory of the machine.
struct Node {
    id: String,
    size: u64,
    /// As QEMU's `-object` has it.
    object: String,
}

impl Node {
    fn new(id: &str, size: u64, kind: &str, options: &str) -> Self {
        Self {
            id: id.into(),
            size,
            object: format!("memory-backend-{kind},id={id},size={size},{options}"),
        }
    }

    /// A file, mapped privately: nothing of it is read before the guest reads it,
    /// and what the guest writes there does not reach it.
    fn mapped(id: &str, size: u64, file: &Path) -> Self {
        let options = "share=off,readonly=on,rom=off,mem-path=";
        Self::new(id, size, "file", &format!("{options}{}", file.display()))
    }

    /// A file, which QEMU makes if it is not there.
    fn shared(id: &str, size: u64, file: &Path) -> Self {
        let options = format!("share=on,mem-path={}", file.display());
        Self::new(id, size, "file", &options)
    }

    fn empty(id: &str, size: u64) -> Self {
        Self::new(id, size, "ram", "share=off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(machine: &Machine, life: Life) -> Vec<String> {
        let command = machine.command(Path::new("/f"), life);
        let words = command.get_args();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    fn nodes(words: &[String]) -> usize {
        words
            .iter()
            .filter(|word| word.starts_with("node,"))
            .count()
    }

    #[test]
    fn the_kernel_sees_the_same_machine_whatever_becomes_of_it() {
        let machine = |disks: usize| Machine {
            cpu: "c".into(),
            memory: 1 << 30,
            disks: (0..disks).map(|n| (format!("d{n}"), STEP)).collect(),
            network: None,
            display: None,
            gpu: false,
            registers: None,
        };
        let saved = words(&machine(0), Life::IsSaved);
        for disks in [1, 6] {
            let boots = words(&machine(disks), Life::Boots);
            assert_eq!(nodes(&boots), nodes(&saved), "{disks}");
            let append = |words: &[String]| {
                let at = words.iter().position(|word| word == "-append").unwrap();
                words[at + 1].clone()
            };
            assert_eq!(append(&boots), append(&saved));
            let continues = words(&machine(disks), Life::Continues);
            assert_eq!(nodes(&continues), nodes(&saved) + disks);
            assert!(!continues.contains(&"-append".to_owned()));
        }
    }

    #[test]
    fn the_disks_lie_behind_their_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), [1; 10]).unwrap();
        std::fs::write(path("b"), [2; 5]).unwrap();
        let machine = Machine {
            cpu: "c".into(),
            memory: 1 << 30,
            disks: vec![("a".into(), 4 << 20), ("b".into(), 2 << 20)],
            network: None,
            display: None,
            gpu: false,
            registers: None,
        };
        let table = 0x8000_0000;
        for (life, at) in [
            (Life::Boots, table + STEP),
            (Life::Continues, table + 2 * STEP),
        ] {
            machine.write_disks(folder.path(), life).unwrap();
            let bytes = std::fs::read(path(file::TABLE)).unwrap();
            assert_eq!(bytes.len() as u64, STEP);
            let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap());
            let words: Vec<u64> = bytes.chunks(8).take(5).map(word).collect();
            assert_eq!(words[0], 2 << 32 | 0x534b_5344);
            assert_eq!(words[1..], [at, 4 << 20, at + (4 << 20), 2 << 20]);
        }
        let one = std::fs::read(path(file::DISKS)).unwrap();
        assert_eq!(one, [&[1; 10][..], &[2; 5]].concat());
        let many = (0..17).map(|n| (format!("d{n}"), STEP)).collect();
        let error = Machine {
            disks: many,
            ..machine
        }
        .write_disks(folder.path(), Life::Continues);
        assert!(error.unwrap_err().to_string().contains("16 disks"));
    }
}
