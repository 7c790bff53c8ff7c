//! A simulator's options for gil: a list of `key=value`.

use crate::gpu::GpuPlace;
use crate::target::{AllCosts, BadPart};
use gil_detect::watch::{Spec, SpecError};
use gil_gpu_registers::Gpu;
use gil_timing::Contention;
use gil_uapi::GuestAddress;
use gil_wire::address::{Address, AddressError};
use gil_wire::choice::{Together, UnknownApi};
use gil_wire::finish::Finish;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The keys, as a user writes them.
pub const KEYS: &str = "board, key, monitor, channel-files, channel-input, ram, ram-mapped, ram-base, gpu, detect, module, trace, trace-compress, calls, work-times, report, board-timeout, count, list-jobs, time, contention, costs, finish, checkpoint-log, kernel, watch, watch-limit";

/// A board, as the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBoard {
    /// The APIs that it serves.
    pub apis: Together,
    /// Its address.
    pub address: Option<Address>,
    /// The key that it was started with.
    pub key: Option<PathBuf>,
}

/// How the host interface is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `board=ADDR`: the board agent. Without it every call answers that the
    /// board is lost.
    pub board: Option<Address>,
    /// `key=FILE`: what the board has to prove that it has.
    pub key: Option<PathBuf>,
    /// `board=API=ADDR` and `key=API=FILE`: a board for the APIs of one back end,
    /// such as `board=gles=ADDR` for EGL and OpenGL ES. The others are served by
    /// the one above.
    pub api_boards: Vec<ApiBoard>,
    /// `monitor=PATH`: the Unix socket on which `gil run` listens.
    pub monitor: Option<PathBuf>,
    /// `channel-files=PATH`: the Unix socket on which somebody serves the guest
    /// folders of the host.
    pub files: Option<PathBuf>,
    /// `channel-input=PATH`: the Unix socket on which somebody serves the
    /// program's standard input.
    pub input: Option<PathBuf>,
    /// `ram=PATH`: the file behind guest RAM. Without it and `ram-mapped`, the
    /// process's own memory-backend-memfd.
    pub ram: Option<PathBuf>,
    /// `ram-mapped=PATH`: the file that this process has mapped as guest RAM,
    /// privately or not; that mapping is used. Excludes `ram`.
    pub ram_mapped: Option<PathBuf>,
    /// `ram-base=ADDRESS`: guest physical address of the file's first byte.
    pub ram_base: GuestAddress,
    /// The GPU whose registers are gil's.
    pub gpu: Option<GpuPlace>,
    /// `detect=marker|symbol`.
    pub detect: Detect,
    /// `module=PATH`: the driver's module file, for `detect=symbol`.
    pub module: Option<PathBuf>,
    /// `trace=FILE`: where every request, answer and timing is recorded.
    pub trace: Option<PathBuf>,
    /// `trace-compress=on`: compress what is recorded.
    pub trace_compress: bool,
    /// `calls=FILE`: where every call gets a row.
    pub calls: Option<PathBuf>,
    /// `work-times=FILE`: what builds took in earlier runs, and where those of this one are
    /// added.
    pub work_times: Option<PathBuf>,
    /// `report=FILE`: where the report is written as JSON.
    pub report: Option<PathBuf>,
    /// `board-timeout=SECONDS`: how long one call may take in wall time;
    /// [`BOARD_TIMEOUT`] unless said otherwise.
    pub board_timeout: Option<Duration>,
    /// `count=on`: count guest instructions, for the report's prediction.
    pub count: bool,
    /// `list-jobs=on`: list each job on a GPU's processor in the report.
    pub list_jobs: bool,
    /// `time=strict|async`.
    pub time: Time,
    /// `contention=FACTOR`: how many times as long a job lasts on one processor of a GPU
    /// while another is at work; 1 unless said otherwise.
    pub contention: Contention,
    /// `costs=cpu:RATIO+API.launch:NS+…`: what the target adds, as [`AllCosts`] says.
    pub costs: AllCosts,
    /// `finish=program|frame|call`: when the board waits for its device.
    pub finish: Finish,
    /// `checkpoint-log=on`: remember what made the board's objects, so that
    /// checkpoints can be taken while programs use the GPU.
    pub checkpoint_log: bool,
    /// `kernel=PATH`: the guest's kernel, an arm64 Image, for `watch`.
    pub kernel: Option<PathBuf>,
    /// `watch=FUNCTION`, `watch=MODULE:FUNCTION`, or with the ELF file of a
    /// program or library `watch=OBJECT:FUNCTION@FILE`; may be repeated.
    pub watch: Vec<Spec>,
    /// `watch-limit=NUMBER`: calls shown of each watched function.
    pub watch_limit: u64,
}

/// Longest wall time of one call, unless said otherwise: longer than the work of
/// most, and an end where a board is silent for ever.
pub const BOARD_TIMEOUT: Duration = Duration::from_secs(600);

/// Calls shown of a watched function, unless said otherwise.
pub const WATCH_LIMIT: u64 = 1000;

/// When the durations of operations are learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// The board ends each operation before its enqueue returns.
    Strict,
    /// The board works on while the simulation goes on.
    #[default]
    Async,
}

/// The way in which doorbells are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detect {
    /// By the marker instruction.
    #[default]
    Marker,
    /// By the module's symbol, without a marker.
    Symbol,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            board: None,
            key: None,
            api_boards: Vec::new(),
            monitor: None,
            files: None,
            input: None,
            ram: None,
            ram_mapped: None,
            ram_base: GuestAddress(0x4000_0000),
            gpu: None,
            detect: Detect::Marker,
            module: None,
            trace: None,
            trace_compress: false,
            calls: None,
            work_times: None,
            report: None,
            board_timeout: Some(BOARD_TIMEOUT),
            count: false,
            list_jobs: false,
            checkpoint_log: false,
            time: Time::Async,
            contention: Contention::NONE,
            costs: AllCosts::default(),
            finish: Finish::Program,
            kernel: None,
            watch: Vec::new(),
            watch_limit: WATCH_LIMIT,
        }
    }
}

/// An invalid configuration list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No `=`.
    #[error("\"{0}\" is no key=value: the keys are {KEYS}")]
    Shape(String),
    /// A key that is not known.
    #[error("\"{0}\" is no key that gil knows: the keys are {KEYS}")]
    Key(String),
    /// The board's address.
    #[error("board={0}")]
    Board(#[from] AddressError),
    /// An API's name in front of a value.
    #[error("{key}={value}: {error}")]
    Api {
        /// The key.
        key: &'static str,
        /// The given value.
        value: String,
        /// What is wrong with the name.
        error: UnknownApi,
    },
    /// Two boards for one API.
    #[error("{key}={value}: there is one for {apis} already")]
    Twice {
        /// The key.
        key: &'static str,
        /// The given value.
        value: String,
        /// The APIs.
        apis: Together,
    },
    /// A key for a board that is not named.
    #[error("key={api}=FILE needs board={api}=ADDR")]
    KeyAlone {
        /// The API.
        api: &'static str,
    },
    /// A checkpoint of several boards.
    #[error("{0} is for runs with one board: leave it out, or the boards of single APIs")]
    OneBoard(&'static str),
    /// A function to watch.
    #[error("watch={0}")]
    Watch(#[from] SpecError),
    /// A value of another kind.
    #[error("{key}={value} is not {wanted}")]
    Value {
        /// The key.
        key: &'static str,
        /// The given value.
        value: String,
        /// The kind of value that is needed.
        wanted: &'static str,
    },
    /// Symbol detection without a module.
    #[error("detect=symbol needs module=PATH, the gil.ko that the guest loads")]
    NoModule,
}

impl FromStr for Config {
    type Err = ConfigError;

    /// Parses `key=value,key=value`. Values cannot hold a comma.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        Self::from_args(text.split(',').filter(|arg| !arg.is_empty()))
    }
}

impl Config {
    /// Parses arguments of the form `key=value`.
    ///
    /// # Errors
    /// [`ConfigError`] names the argument that is wrong.
    pub fn from_args<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for arg in args {
            let (key, value) = arg
                .split_once('=')
                .ok_or_else(|| ConfigError::Shape(arg.into()))?;
            config.set(key, value)?;
        }
        if config.detect == Detect::Symbol && config.module.is_none() {
            return Err(ConfigError::NoModule);
        }
        config.check_boards()?;
        Ok(config)
    }

    /// A checkpoint has the calls of a session in one order: that of one board.
    fn check_boards(&self) -> Result<(), ConfigError> {
        let alone = self.api_boards.iter().find(|board| board.address.is_none());
        match alone {
            Some(board) => {
                let api = board.apis.name();
                Err(ConfigError::KeyAlone { api })
            }
            None if self.api_boards.is_empty() => Ok(()),
            None if self.checkpoint_log => Err(ConfigError::OneBoard("checkpoint-log")),
            None => Ok(()),
        }
    }

    fn set_board(&mut self, value: &str) -> Result<(), ConfigError> {
        let (apis, address) = split("board", value)?;
        let address = Some(address.parse::<Address>()?);
        let Some(apis) = apis else {
            self.board = address;
            return Ok(());
        };
        let board = self.board_for(apis);
        match std::mem::replace(&mut board.address, address) {
            None => Ok(()),
            Some(_) => Err(twice("board", value, apis)),
        }
    }

    fn set_key(&mut self, value: &str) -> Result<(), ConfigError> {
        let (apis, file) = split("key", value)?;
        let file = Some(path("key", file)?);
        let Some(apis) = apis else {
            self.key = file;
            return Ok(());
        };
        let board = self.board_for(apis);
        match std::mem::replace(&mut board.key, file) {
            None => Ok(()),
            Some(_) => Err(twice("key", value, apis)),
        }
    }

    fn board_for(&mut self, apis: Together) -> &mut ApiBoard {
        let mut known = self.api_boards.iter();
        let place = known.position(|board| board.apis == apis);
        let place = place.unwrap_or_else(|| {
            let (address, key) = (None, None);
            self.api_boards.push(ApiBoard { apis, address, key });
            self.api_boards.len() - 1
        });
        &mut self.api_boards[place]
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match key {
            "board" => self.set_board(value)?,
            "key" => self.set_key(value)?,
            "monitor" => self.monitor = Some(path("monitor", value)?),
            "channel-files" => self.files = Some(path("channel-files", value)?),
            "channel-input" => self.input = Some(path("channel-input", value)?),
            "ram" => self.ram = Some(path("ram", value)?),
            "ram-mapped" => self.ram_mapped = Some(path("ram-mapped", value)?),
            "ram-base" => self.ram_base = address("ram-base", value)?,
            "gpu" => self.gpu = Some(gpu(value)?),
            "detect" => self.detect = detect(value)?,
            "module" => self.module = Some(path("module", value)?),
            "trace" => self.trace = Some(path("trace", value)?),
            "trace-compress" => self.trace_compress = switch("trace-compress", value)?,
            "calls" => self.calls = Some(path("calls", value)?),
            "work-times" => self.work_times = Some(path("work-times", value)?),
            "report" => self.report = Some(path("report", value)?),
            "board-timeout" => self.board_timeout = Some(seconds(value)?),
            "count" => self.count = switch("count", value)?,
            "list-jobs" => self.list_jobs = switch("list-jobs", value)?,
            "checkpoint-log" => self.checkpoint_log = switch("checkpoint-log", value)?,
            "time" => self.time = time(value)?,
            "contention" => self.contention = contention(value)?,
            "costs" => self.costs = costs(value)?,
            "finish" => self.finish = finish(value)?,
            "kernel" => self.kernel = Some(path("kernel", value)?),
            "watch" => self.watch.push(value.parse::<Spec>()?),
            "watch-limit" => self.watch_limit = number("watch-limit", value)?,
            _ => return Err(ConfigError::Key(key.into())),
        }
        Ok(())
    }
}

fn wrong(key: &'static str, value: &str, wanted: &'static str) -> ConfigError {
    ConfigError::Value {
        key,
        value: value.into(),
        wanted,
    }
}

fn split<'a>(
    key: &'static str,
    value: &'a str,
) -> Result<(Option<Together>, &'a str), ConfigError> {
    let value_of = || value.to_owned();
    Together::split(value).map_err(|error| ConfigError::Api {
        key,
        value: value_of(),
        error,
    })
}

fn twice(key: &'static str, value: &str, apis: Together) -> ConfigError {
    let value = value.into();
    ConfigError::Twice { key, value, apis }
}

fn path(key: &'static str, value: &str) -> Result<PathBuf, ConfigError> {
    if value.is_empty() || value.contains('\0') {
        return Err(wrong(key, value, "a path"));
    }
    Ok(value.into())
}

fn address(key: &'static str, value: &str) -> Result<GuestAddress, ConfigError> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let parsed = parsed.map(GuestAddress);
    parsed.map_err(|_| wrong(key, value, "an address such as 0x40000000"))
}

/// A GPU, and where its registers are if they are RAM: `mali-t628@0x7fff0000`.
fn gpu(value: &str) -> Result<GpuPlace, ConfigError> {
    let (name, at) = match value.split_once('@') {
        Some((name, at)) => (name, Some(address("gpu", at)?)),
        None => (value, None),
    };
    let wanted = "a GPU such as mali-t628, or mali-t628@0x7fff0000 with its registers' address";
    let gpu = Gpu::named(name).ok_or_else(|| wrong("gpu", value, wanted))?;
    Ok(GpuPlace { gpu, at })
}

fn number(key: &'static str, value: &str) -> Result<u64, ConfigError> {
    value.parse().map_err(|_| wrong(key, value, "a number"))
}

fn detect(value: &str) -> Result<Detect, ConfigError> {
    match value {
        "marker" => Ok(Detect::Marker),
        "symbol" => Ok(Detect::Symbol),
        _ => Err(wrong("detect", value, "marker or symbol")),
    }
}

fn time(value: &str) -> Result<Time, ConfigError> {
    match value {
        "strict" => Ok(Time::Strict),
        "async" => Ok(Time::Async),
        _ => Err(wrong("time", value, "strict or async")),
    }
}

fn contention(value: &str) -> Result<Contention, ConfigError> {
    let factor = value.parse().ok().and_then(Contention::new);
    factor.ok_or_else(|| wrong("contention", value, "a number from 1 on"))
}

fn costs(value: &str) -> Result<AllCosts, ConfigError> {
    let found = value.parse();
    found.map_err(|BadPart(part)| {
        wrong(
            "costs",
            &part,
            "cpu:RATIO, or API.launch, .gap, .completion, .scale, .offset, .wake, .clock, .to or .from with its numbers",
        )
    })
}

fn finish(value: &str) -> Result<Finish, ConfigError> {
    let found = value.parse();
    found.map_err(|_| wrong("finish", value, "program, frame or call"))
}

fn seconds(value: &str) -> Result<Duration, ConfigError> {
    value
        .parse()
        .ok()
        .filter(|&seconds: &f64| seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| wrong("board-timeout", value, "a number of seconds above 0"))
}

fn switch(key: &'static str, value: &str) -> Result<bool, ConfigError> {
    match value {
        "on" | "yes" | "true" => Ok(true),
        "off" | "no" | "false" => Ok(false),
        _ => Err(wrong(key, value, "on or off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_key_is_read() {
        let text = "board=tcp://127.0.0.1:5,key=/k.key,monitor=/m,channel-files=/f,channel-input=/i,ram=/r,ram-mapped=/q,ram-base=0x80000000,gpu=mali-400@0x9000,detect=symbol,\
                    module=/gil.ko,trace=/t,trace-compress=on,calls=/c,work-times=/w,report=/j,board-timeout=2.5,count=on,list-jobs=on,time=strict,contention=2.1,costs=cpu:2+opencl.gap:7,checkpoint-log=on,\
                    kernel=/k,watch=do_exit,watch=gil:f,watch=p:g@/a b/p,watch-limit=7";
        let expected = Config {
            board: Some("tcp://127.0.0.1:5".parse().unwrap()),
            key: Some("/k.key".into()),
            api_boards: Vec::new(),
            monitor: Some("/m".into()),
            files: Some("/f".into()),
            input: Some("/i".into()),
            ram: Some("/r".into()),
            ram_mapped: Some("/q".into()),
            ram_base: GuestAddress(0x8000_0000),
            gpu: Some(GpuPlace {
                gpu: Gpu::Mali400,
                at: Some(GuestAddress(0x9000)),
            }),
            detect: Detect::Symbol,
            module: Some("/gil.ko".into()),
            trace: Some("/t".into()),
            trace_compress: true,
            calls: Some("/c".into()),
            work_times: Some("/w".into()),
            report: Some("/j".into()),
            board_timeout: Some(Duration::from_millis(2500)),
            count: true,
            list_jobs: true,
            finish: Finish::default(),
            checkpoint_log: true,
            time: Time::Strict,
            contention: Contention::new(2.1).unwrap(),
            costs: "opencl.gap:7+cpu:2".parse().unwrap(),
            kernel: Some("/k".into()),
            watch: ["do_exit", "gil:f", "p:g@/a b/p"]
                .map(|spec| spec.parse().unwrap())
                .to_vec(),
            watch_limit: 7,
        };
        assert_eq!(text.parse(), Ok(expected));
        assert_eq!("".parse(), Ok(Config::default()));
        let device = GpuPlace {
            gpu: Gpu::MaliT628,
            at: None,
        };
        assert_eq!("gpu=mali-t628".parse::<Config>().unwrap().gpu, Some(device));
    }

    #[test]
    fn boards_of_single_apis_have_keys_of_their_own() {
        let text = "board=unix:/a,board=gles=tcp://h:1,key=egl=/k,board=opencl=unix:/b=c";
        let config: Config = text.parse().unwrap();
        let named = |name: &str, address: &str, key: Option<&str>| ApiBoard {
            apis: Together::named(name).unwrap(),
            address: Some(address.parse().unwrap()),
            key: key.map(Into::into),
        };
        let boards = [
            named("gles", "tcp://h:1", Some("/k")),
            named("opencl", "unix:/b=c", None),
        ];
        assert_eq!(config.api_boards, boards);
        assert_eq!(config.board, Some("unix:/a".parse().unwrap()));
        for (text, words) in [
            ("board=vulkan=unix:/a", "there is no API"),
            ("board=gles=unix:/a,board=egl=unix:/b", "EGL and OpenGL ES"),
            ("key=gles=/k", "needs board=gles=ADDR"),
            ("board=gles=unix:/a,checkpoint-log=on", "one board"),
        ] {
            let error = text.parse::<Config>().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| text.parse::<Config>().unwrap_err();
        assert_eq!(error("board"), ConfigError::Shape("board".into()));
        assert_eq!(error("bord=x"), ConfigError::Key("bord".into()));
        assert!(matches!(error("board=x"), ConfigError::Board(_)));
        assert_eq!(error("detect=symbol"), ConfigError::NoModule);
        for text in [
            "ram-base=x",
            "board-timeout=-1",
            "count=2",
            "detect=x",
            "time=x",
            "ram=",
            "watch=a b",
            "watch-limit=x",
        ] {
            let message = error(text).to_string();
            assert!(message.starts_with(text), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text: String) {
            let _ = text.parse::<Config>();
        }
    }
}
