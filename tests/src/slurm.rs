//! Slurm on this machine alone: its daemons as processes of a test's own, in a folder of
//! its own, on loopback. Whose machine it is does not matter, and neither does root.

use gil_run_support::process::Owned;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian has daemons, which not every user's PATH has.
const DAEMONS: &str = "/usr/sbin";

/// How long its start may take, and a job.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(100);

/// Slurm with one node. It ends with this value.
pub struct Slurm {
    // In this order they end.
    daemons: Vec<Owned>,
    folder: TempDir,
}

/// Whether Slurm is installed.
pub fn is_installed() -> bool {
    let names = ["slurmctld", "slurmd", "munged"];
    names.iter().all(|name| daemon(name).exists())
}

fn daemon(name: &str) -> PathBuf {
    Path::new(DAEMONS).join(name)
}

impl Slurm {
    /// Starts it, and waits until its node takes jobs.
    ///
    /// # Panics
    /// If it does not start: with its logs.
    pub fn start() -> Self {
        // Short: munge's socket lies below.
        let folder = tempfile::Builder::new()
            .prefix("gil-slurm-")
            .tempdir_in("/tmp");
        let folder = folder.expect("a temporary folder");
        // munge's daemon wants its socket to be reached by all.
        let open = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("its permissions");
        for name in ["state", "spool"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let mut slurm = Self {
            daemons: Vec::new(),
            folder,
        };
        slurm.configure();
        slurm.munge();
        slurm.daemon("slurmctld", &["-D", "-i"]);
        slurm.daemon("slurmd", &["-D"]);
        slurm.until("its node is idle", || {
            slurm.says("sinfo", &["--noheader", "--format=%T"]).trim() == "idle"
        });
        slurm
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        let host = nix::unistd::gethostname().expect("this machine's name");
        let host = host.to_string_lossy();
        let host = host.split('.').next().unwrap_or_default();
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid());
        let user = user.ok().flatten().expect("this user's name").name;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (control, node) = two_ports();
        let folder = self.folder.path().display();
        let text = format!(
            "ClusterName=gil\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmUser={user}\n\
             SlurmdUser={user}\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge.socket\n\
             CredType=cred/munge\n\
             SlurmctldPort={control}\n\
             SlurmdPort={node}\n\
             StateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\n\
             SlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.pid\n\
             SlurmctldLogFile={folder}/slurmctld.log\n\
             SlurmdLogFile={folder}/slurmd.log\n\
             SlurmdParameters=config_overrides\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\n\
             SwitchType=switch/none\n\
             MpiDefault=none\n\
             ReturnToService=2\n\
             KillWait=2\n\
             SchedulerParameters=sched_interval=1,batch_sched_delay=0\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(self.at("slurm.conf"), text).expect("the configuration");
    }

    fn munge(&mut self) {
        let key = self.at("munge.key");
        let mut bytes = [0; 128];
        let random = fs::File::open("/dev/urandom");
        let read = random.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
        read.expect("random bytes");
        fs::write(&key, bytes).expect("the key");
        fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("its permissions");
        let option = |name: &str, file: &str| format!("--{name}={}", self.at(file).display());
        let options = [
            "--foreground".into(),
            option("key-file", "munge.key"),
            option("socket", "munge.socket"),
            option("pid-file", "munge.pid"),
            option("log-file", "munge.log"),
            option("seed-file", "munge.seed"),
        ];
        self.spawn("munged", Command::new(daemon("munged")).args(options));
        let socket = self.at("munge.socket");
        self.until("munge listens", || socket.exists());
    }

    fn daemon(&mut self, name: &str, options: &[&str]) {
        let mut command = Command::new(daemon(name));
        command.args(options).arg("-f").arg(self.at("slurm.conf"));
        self.spawn(name, &mut command);
    }

    fn spawn(&mut self, name: &str, command: &mut Command) {
        let out = fs::File::create(self.at(&format!("{name}.out"))).expect("a file");
        let both = out.try_clone().expect("the same file");
        let command = command.stdin(Stdio::null()).stdout(out).stderr(both);
        // Those that start last end first.
        self.daemons
            .insert(0, Owned::start(command).expect("a daemon"));
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(
                began.elapsed() < PATIENCE,
                "not so: {what}\n{}",
                self.logs()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// What its daemons wrote.
    pub fn logs(&self) -> String {
        let names = ["munged.out", "slurmctld.out", "slurmd.out"];
        let logs = names.map(|name| fs::read_to_string(self.at(name)).unwrap_or_default());
        logs.concat()
    }

    /// One of Slurm's commands, for this Slurm.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", self.at("slurm.conf"));
        command
    }

    /// What such a command prints.
    fn says(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.command(name).args(arguments).output();
        String::from_utf8_lossy(&output.expect("Slurm's command").stdout).into_owned()
    }

    /// Submits a script; the job's number.
    ///
    /// # Panics
    /// If it is not taken.
    pub fn submit(&self, script: &Path) -> String {
        let script = script.display().to_string();
        let number = self.says("sbatch", &["--parsable", &script]);
        let number = number.trim().to_owned();
        assert!(number.parse::<u32>().is_ok(), "{number}\n{}", self.logs());
        number
    }

    /// Kills what runs of a job, and what waits does not begin.
    pub fn kill(&self, job: &str) {
        self.says("scancel", &["--state=PENDING", job]);
        self.says("scancel", &["--signal=KILL", "--full", job]);
    }

    /// Ends a job as its user does: what runs is asked, and killed if it does not end.
    pub fn cancel(&self, job: &str) {
        self.says("scancel", &[job]);
    }

    /// Waits until nothing of a job waits or runs.
    ///
    /// # Panics
    /// If it does not end.
    pub fn wait(&self, job: &str) {
        self.until("the job is over", || {
            self.says("squeue", &["--noheader", "--jobs", job])
                .trim()
                .is_empty()
        });
    }
}

/// Two free ports.
fn two_ports() -> (u16, u16) {
    let bound = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let listeners = (bound(), bound());
    let port = |listener: &TcpListener| listener.local_addr().expect("its port").port();
    (port(&listeners.0), port(&listeners.1))
}
