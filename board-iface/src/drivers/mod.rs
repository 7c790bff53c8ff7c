//! The back end of GPUs' kernel drivers: ioctls that a guest's own driver library made,
//! executed on the render node of this machine whose driver is the same.
//!
//! | module | what |
//! |---|---|
//! | here | which nodes are there, and which drivers have a table |
//! | [`node`] | what a node offers: files, ioctls, buffers, fences |
//! | [`render`] | a render node of this machine's |
//! | [`served`] | a node and its driver's table |
//! | [`session`] | one guest's calls |
//! | [`guest`] | its files, and how an ioctl is executed for it |
//! | [`buffers`] | its buffers: handles, memory, what the guest has of it |
//! | [`fetch`] | what is new in buffers, behind the driver's own wait |
//! | [`gpu`] | jobs of a GPU that the guest's own kernel driver runs |
//! | [`windows`] | the memory of such a GPU's address spaces |
//! | [`jobs`] | its jobs, and how long they take |
//! | [`refusal`] | why a call is not executed |
//!
//! Nothing here knows what a driver's calls do: the tables of the crate `gil-drivers` say
//! which fields are pointers, buffers, fences and times.

pub mod buffers;
pub mod fetch;
pub mod gpu;
mod guest;
pub mod jobs;
pub mod node;
pub mod refusal;
pub mod render;
pub mod served;
pub mod session;
pub mod windows;

use crate::back_end::{BackEnd, DriverOptions, Needs, Registered, Selection};
use crate::board::{self, Board, BoardError, Guest};
use crate::region::Budget;
use gil_wire::generated as wire;
use gil_wire::identity::DeviceInfo;
use node::{Node, Version};
use render::RenderNode;
use served::Served;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Names the nodes that are used, with colons between; without it all are.
const VARIABLE: &str = "GIL_BOARD_RENDER_NODES";
/// Where render nodes are.
const FOLDER: &str = "/dev/dri";
/// The minor numbers of render nodes (Linux, `drivers/gpu/drm/drm_drv.c`).
const MINORS: std::ops::Range<u32> = 128..192;
/// How long a session waits for a job, at most.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The back end.
#[derive(Debug)]
pub struct Drivers;

/// Why a node is not used.
#[derive(Debug, thiserror::Error)]
pub enum DriversError {
    /// None that could be.
    #[error(
        "this board has no render node that it may open whose driver is one of {}: use a board that has one",
        known()
    )]
    NoNode,
    /// It does not open, or does not say what it is.
    #[error("{} cannot be used: {error}", .path.display())]
    Open {
        /// The node.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// No table has its driver.
    #[error(transparent)]
    Table(#[from] gil_drivers::TableError),
    /// Its driver is another than the table's.
    #[error(
        "the driver {driver} of {} has version {}, and gil describes version {}: use a board whose kernel has that, or a gil release that describes the board's",
        .path.display(),
        dotted(*.theirs),
        dotted(*.ours)
    )]
    Version {
        /// The driver.
        driver: String,
        /// The node.
        path: PathBuf,
        /// What it reports.
        theirs: [u32; 3],
        /// The table's.
        ours: [u32; 3],
    },
    /// Nothing says when its jobs end.
    #[error(
        "the table of the driver {driver} of {} does not say how its jobs tell that they ended",
        .path.display()
    )]
    Jobs {
        /// The driver.
        driver: String,
        /// The node.
        path: PathBuf,
    },
}

fn known() -> String {
    gil_drivers::names().collect::<Vec<_>>().join(", ")
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

impl From<DriversError> for BoardError {
    fn from(error: DriversError) -> Self {
        Self::Driver(Box::new(error))
    }
}

/// The render nodes of this machine, by the minor numbers that the kernel gives them: a
/// confined process may open them, and not list their folder.
fn nodes() -> Vec<PathBuf> {
    let path = |minor| PathBuf::from(format!("{FOLDER}/renderD{minor}"));
    MINORS.map(path).filter(|path| path.exists()).collect()
}

/// The nodes of these whose driver has a table: the first of each driver.
fn described(paths: Vec<PathBuf>) -> Vec<RenderNode> {
    let mut nodes: Vec<RenderNode> = Vec::new();
    for node in paths.iter().filter_map(|it| RenderNode::at(it).ok()) {
        let name = &node.version().name;
        let is_new = nodes.iter().all(|it| it.version().name != *name);
        if is_new && gil_drivers::names().any(|known| known == name) {
            nodes.push(node);
        }
    }
    nodes
}

/// The nodes that the environment names, or all.
fn chosen() -> Vec<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(named) => std::env::split_paths(&named)
            .filter(|path| path.is_absolute())
            .collect(),
        None => nodes(),
    }
}

impl BackEnd for Drivers {
    fn name(&self) -> &'static str {
        gil_wire::driver::BACK_END
    }

    fn apis(&self) -> &'static [u16] {
        &[wire::lima::API, wire::panfrost::API, wire::virtio_gpu::API]
    }

    fn registered(&self) -> Vec<Registered> {
        let registered = |node: RenderNode| Registered {
            label: format!("{} ({})", node.path().display(), node.version().name),
            library: None,
            file: Some(node.path().into()),
        };
        described(nodes()).into_iter().map(registered).collect()
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn needs(&self) -> Needs {
        Needs {
            variables: &["GIL_BOARD_"],
            ..Needs::default()
        }
    }

    fn only(&self, drivers: &[&Registered]) -> io::Result<Selection> {
        let paths: Vec<_> = drivers
            .iter()
            .filter_map(|driver| driver.file.as_ref()?.to_str())
            .collect();
        Ok(Selection {
            env: vec![(VARIABLE.into(), OsString::from(paths.join(":")))],
            folder: None,
        })
    }

    fn is_of_some_machines(&self) -> bool {
        true
    }

    fn load(&self, _options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        let nodes = described(chosen()).into_iter();
        let nodes = nodes.map(|node| Box::new(node) as Box<dyn Node>).collect();
        Ok(Box::new(DriversBoard::of(nodes, LIMIT)?))
    }

    fn is_of_programs(&self) -> bool {
        false
    }
}

/// The nodes that can be used, one a driver.
#[derive(Debug)]
pub struct DriversBoard {
    served: Vec<Served>,
    limit: Duration,
}

impl DriversBoard {
    /// With these nodes, on which a session waits so long for a job.
    ///
    /// # Errors
    /// [`DriversError`] if none can be used: why not the first.
    pub fn of(nodes: Vec<Box<dyn Node>>, limit: Duration) -> Result<Self, DriversError> {
        let mut served = Vec::new();
        let mut why = None;
        for node in nodes {
            match Served::of(node) {
                Ok(one) => served.push(one),
                Err(error) => {
                    tracing::debug!("{error}");
                    why.get_or_insert(error);
                }
            }
        }
        match served.is_empty() {
            true => Err(why.unwrap_or(DriversError::NoNode)),
            false => Ok(Self { served, limit }),
        }
    }

    /// The node of the API of this number.
    fn of_api(&self, api: u16) -> Option<&Served> {
        self.served.iter().find(|it| it.table.api == api)
    }
}

impl Board for DriversBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        let device = |served: &Served| {
            let Version {
                name,
                numbers,
                date,
                description,
            } = served.node.version();
            DeviceInfo {
                api: gil_wire::api::api(served.table.api)
                    .map_or_else(|| name.clone(), |api| api.title.into()),
                platform: description.clone(),
                name: served.node.path().display().to_string(),
                version: format!("{name} {}, {date}", dotted(*numbers)),
            }
        };
        self.served.iter().map(device).collect()
    }

    fn open<'b>(
        &'b self,
        _guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn board::Session + 'b>, BoardError> {
        Ok(Box::new(session::Session::new(self, budget)))
    }
}

impl DriversBoard {
    /// How long a session waits for a job.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}
