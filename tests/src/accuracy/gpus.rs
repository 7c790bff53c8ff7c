//! The GPUs, and what their processors are called.

/// A GPU whose registers gil has.
#[derive(Clone, Copy, Debug)]
pub struct Gpu {
    /// As `--gpu` has it.
    pub name: &'static str,
    /// Its processors.
    pub processors: &'static [Processor],
    /// What the script's processors take alone on average, in nanoseconds.
    means_ns: &'static [(&'static str, u64)],
}

/// A processor.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// In the report.
    pub name: &'static str,
    /// In the stand-in's script.
    pub script: &'static str,
    /// Its interrupt, as the driver names it.
    pub interrupt: &'static str,
    /// Whether the ends of its jobs are those of frames.
    pub ends_frames: bool,
}

/// Of a pixel processor alone: measured on a Mali-400, see docs/DRIVERS.md.
const PIXELS_NS: u64 = 1_460_000;
/// Of the other processor: chosen.
const VERTICES_NS: u64 = 300_000;

const fn processor(
    name: &'static str,
    script: &'static str,
    interrupt: &'static str,
    ends_frames: bool,
) -> Processor {
    Processor {
        name,
        script,
        interrupt,
        ends_frames,
    }
}

/// Both.
pub const GPUS: [Gpu; 2] = [
    Gpu {
        name: "mali-t628",
        processors: &[
            processor("vertex and tiler", "slot1", "panfrost-job", false),
            processor("fragment", "slot0", "panfrost-job", true),
        ],
        means_ns: &[("slot1", VERTICES_NS), ("slot0", PIXELS_NS)],
    },
    Gpu {
        name: "mali-400",
        processors: &[
            processor("geometry", "gp", "gp", false),
            processor("pixel", "pp0", "pp0", true),
            processor("pixel 1", "pp1", "pp1", true),
            processor("pixel 2", "pp2", "pp2", true),
            processor("pixel 3", "pp3", "pp3", true),
        ],
        means_ns: &[("gp", VERTICES_NS), ("pp", PIXELS_NS)],
    },
];

impl Gpu {
    /// The stand-in's times, with this standard deviation in hundredths of the mean.
    pub fn script(&self, percent: u64) -> String {
        let lists = self.means_ns.iter();
        let lists = lists.map(|(name, mean_ns)| format!("{name}={mean_ns}~{percent}"));
        lists.collect::<Vec<_>>().join(";")
    }
}
