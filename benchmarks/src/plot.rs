//! Plots of what was measured, as SVG.

use crate::error::BenchError;
use crate::line::Line;
use crate::table;
use plotters::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};

const COLOURS: [RGBColor; 6] = [
    BLUE,
    RED,
    RGBColor(0, 130, 60),
    RGBColor(200, 120, 0),
    RGBColor(130, 60, 160),
    BLACK,
];

/// Points of one kind, joined by a line.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    /// Drawn thinner: what the others are compared with.
    is_baseline: bool,
}

/// A plot: both axes are logarithmic.
struct Plot<'a> {
    file: &'a str,
    title: &'a str,
    x: &'a str,
    y: &'a str,
    x_label: fn(f64) -> String,
    y_label: fn(f64) -> String,
    series: Vec<Series>,
    legend: SeriesLabelPosition,
}

/// A plot that was drawn.
pub struct Drawn {
    /// The plot's title.
    pub title: String,
    /// Its file.
    pub path: PathBuf,
}

/// Makes the folder for plots, if there is none.
///
/// # Errors
/// [`BenchError::File`] names the folder.
pub fn make(folder: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(folder).map_err(|error| BenchError::File {
        path: folder.into(),
        what: format!("{error}: name a folder, or where one can be made"),
    })
}

/// Draws what there are lines for, into a folder that is there.
///
/// # Errors
/// [`BenchError::Plot`] names the file.
pub fn draw(folder: &Path, lines: &[Line]) -> Result<Vec<Drawn>, BenchError> {
    let plots = [calls(lines), batches(lines), differences(lines)];
    let mut drawn = Vec::new();
    for plot in plots.into_iter().filter(|plot| !plot.series.is_empty()) {
        let path = folder.join(plot.file);
        plot.draw(&path).map_err(|error| BenchError::Plot {
            path: path.clone(),
            why: error.to_string(),
        })?;
        let title = plot.title.into();
        drawn.push(Drawn { title, path });
    }
    Ok(drawn)
}

fn calls(lines: &[Line]) -> Plot<'_> {
    let mut series = Vec::new();
    for (bench, by) in [
        ("region", "shared memory"),
        ("region-tcp", "TCP"),
        ("region-encrypted", "TCP, encrypted"),
    ] {
        for way in ["to the board", "from the board"] {
            let own = lines
                .iter()
                .filter(|line| line.bench == bench && line.case.ends_with(way));
            let point = |line: &Line| Some((line.bytes? as f64, *line.detail.get("call_us")?));
            series.push(Series {
                name: format!("{way}, {by}"),
                points: own.filter_map(point).collect(),
                is_baseline: false,
            });
        }
    }
    Plot {
        file: "call-over-region.svg",
        title: "A blocking call with a region: wall time, the board's included",
        x: "bytes of the region",
        y: "wall time",
        x_label: |value| table::size(value as u64),
        y_label: |us| time(us),
        series: kept(series),
        legend: SeriesLabelPosition::UpperLeft,
    }
}

fn batches(lines: &[Line]) -> Plot<'_> {
    let own = lines.iter().filter(|line| line.bench == "batch");
    let point = |line: &Line| Some((line.batch? as f64, 1e6 / line.detail.get("wall_each_us")?));
    let series = Series {
        name: "launches of a kernel".into(),
        points: own.filter_map(point).collect(),
        is_baseline: false,
    };
    Plot {
        file: "throughput-over-batch.svg",
        title: "Launches in one submission, the board's driver included",
        x: "launches in the submission",
        y: "launches a second",
        x_label: |value| value.to_string(),
        y_label: |value| grouped(value as u64),
        series: kept(vec![series]),
        legend: SeriesLabelPosition::UpperLeft,
    }
}

fn differences(lines: &[Line]) -> Plot<'_> {
    let own: Vec<&Line> = lines
        .iter()
        .filter(|line| line.bench == "diff" && line.unit == "GB/s")
        .collect();
    let most = own.iter().filter_map(|line| line.threads).max();
    let mut series = Vec::new();
    let mut of = |change: &str, name: String, threads: Option<u64>, is_baseline: bool| {
        let is_own = |line: &&&Line| line.threads == threads && line.case.ends_with(change);
        let value = |line: &Line| {
            if is_baseline {
                line.baseline
            } else {
                line.figure
            }
        };
        let point = |line: &&Line| {
            let value = Some(value(line)).filter(|value| value.is_finite());
            Some((line.bytes? as f64, value?))
        };
        series.push(Series {
            name,
            points: own.iter().filter(is_own).filter_map(point).collect(),
            is_baseline,
        });
    };
    for change in [", unchanged", "one piece", "scattered lines", "all changed"] {
        let name = change.trim_start_matches(", ");
        of(change, format!("{name}, 1 thread"), Some(1), false);
    }
    if most > Some(1) {
        let name = format!("unchanged, {} threads", most.unwrap_or(1));
        of(", unchanged", name, most, false);
    }
    of(", unchanged", "memcmp, 1 thread".into(), Some(1), true);
    Plot {
        file: "diff-over-size.svg",
        title: "Looking for changes in shared memory",
        x: "bytes of shared memory",
        y: "gigabytes a second",
        x_label: |value| table::size(value as u64),
        y_label: |value| value.to_string(),
        series: kept(series),
        legend: SeriesLabelPosition::LowerLeft,
    }
}

/// Those that have a line to draw.
fn kept(series: Vec<Series>) -> Vec<Series> {
    series
        .into_iter()
        .filter(|one| one.points.len() > 1)
        .collect()
}

/// From the least to the most of these numbers, which are above 0.
fn range(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    least..values.fold(0.0, f64::max)
}

/// The powers of ten around a range.
fn decades(range: Range<f64>) -> Range<f64> {
    let power = |exponent: f64| 10f64.powf(exponent);
    power(range.start.log10().floor())..power(range.end.log10().ceil())
}

/// A time in microseconds as people write it.
fn time(us: f64) -> String {
    match us {
        ..1e3 => format!("{us} µs"),
        1e3..1e6 => format!("{} ms", us / 1e3),
        _ => format!("{} s", us / 1e6),
    }
}

/// A number with a gap behind every third digit.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups = groups.map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(" ")
}

impl Plot<'_> {
    fn draw(&self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let points = self.series.iter().flat_map(|one| &one.points);
        let x = range(points.clone().map(|point| point.0));
        let y = decades(range(points.map(|point| point.1)));
        let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 22))
            .margin(16)
            .margin_right(40)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x.log_scale().base(2.0), y.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|value| (self.x_label)(*value))
            .y_label_formatter(&|value| (self.y_label)(*value))
            .label_style(("sans-serif", 14))
            .light_line_style(RGBColor(235, 235, 235))
            .draw()?;
        for (one, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(if one.is_baseline { 1 } else { 2 });
            let points = one.points.iter().copied();
            chart
                .draw_series(LineSeries::new(points.clone(), style))?
                .label(&one.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            let dot = |point| Circle::new(point, 3, colour.filled());
            chart.draw_series(points.map(dot))?;
        }
        if self.series.len() == 1 {
            return Ok(area.present()?);
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .label_font(("sans-serif", 14))
            .position(self.legend.clone())
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Measured;

    #[test]
    fn axes_are_readable() {
        assert_eq!(decades(17.0..2300.0), 10.0..10_000.0);
        assert_eq!(time(100.0), "100 µs");
        assert_eq!(time(10_000.0), "10 ms");
        assert_eq!(time(2e6), "2 s");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(100), "100");
    }

    #[test]
    fn what_was_measured_is_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let line = |batch: u64| {
            let line = Measured::new("batch", "launches", "us", 40.0 / batch as f64);
            let line = line.detail("wall_each_us", 50.0 / batch as f64);
            line.batch(batch).at(&Default::default(), "2026-01-01")
        };
        let drawn = draw(folder.path(), &[line(1), line(8), line(64)]).unwrap();
        assert_eq!(drawn.len(), 1);
        let svg = std::fs::read_to_string(folder.path().join("throughput-over-batch.svg"));
        assert!(svg.unwrap().contains("launches a second"));
        assert!(!folder.path().join("diff-over-size.svg").exists());
    }
}
