//! The utilisation of GPUs' processors over simulated time, as SVG.

use crate::{Jobs, Processor};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// Nothing to draw.
    #[error("{} has no jobs on a GPU's processors: give the report of a run with `--driver`", .0.display())]
    NoJobs(PathBuf),
    /// The file.
    #[error("{} cannot be drawn ({why}): name a file in a folder that you can write to", path.display())]
    Undrawn {
        /// The picture's path.
        path: PathBuf,
        /// The plotter's error.
        why: String,
    },
}

const WIDTH: u32 = 900;
/// Of the title.
const TITLE: u32 = 40;
/// Of a processor's part.
const PART: u32 = 150;
/// Less is no axis.
const SHORTEST_MS: f64 = 1e-3;
const COLOUR: RGBColor = RGBColor(60, 110, 180);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Jobs {
    /// Draws the utilisation of each processor, below one another.
    ///
    /// # Errors
    /// [`PlotError::Undrawn`].
    pub fn draw(&self, path: &Path) -> Result<(), PlotError> {
        self.draw_all(path).map_err(|error| PlotError::Undrawn {
            path: path.into(),
            why: error.to_string(),
        })
    }

    fn draw_all(&self, path: &Path) -> Drawn {
        let height = u64::from(PART) * self.processors.len() as u64 + u64::from(TITLE);
        let size = (WIDTH, u32::try_from(height)?);
        let area = SVGBackend::new(path, size).into_drawing_area();
        area.fill(&WHITE)?;
        let title = "Utilisation of processors over simulated time";
        let area = area.titled(title, ("sans-serif", 20))?;
        let parts = area.split_evenly((self.processors.len().max(1), 1));
        for (processor, part) in self.processors.iter().zip(parts) {
            self.draw_one(processor, &part)?;
        }
        area.present()?;
        Ok(())
    }

    fn draw_one(&self, processor: &Processor, part: &Area<'_>) -> Drawn {
        let ms = |ns: u64| ns as f64 / 1e6;
        let until_ms = ms(self.span_ns()).max(SHORTEST_MS);
        let share = crate::table::percent(processor.execution_ns, self.span_ns());
        let caption = format!("{}: {share}", self.title(processor));
        let mut chart = ChartBuilder::on(part)
            .caption(caption, ("sans-serif", 15))
            .margin_right(24)
            .x_label_area_size(32)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..until_ms, 0.0..100.0)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .y_labels(3)
            .x_desc("ms since the first job")
            .y_label_formatter(&|value| format!("{value} %"))
            .light_line_style(WHITE)
            .draw()?;
        let slot_ms = ms(self.slot_ns);
        let bars = (0u32..).zip(&processor.busy_ns).map(|(slot, busy_ns)| {
            let from = f64::from(slot) * slot_ms;
            // The last slot is over with the last job.
            let until = (from + slot_ms).min(until_ms);
            (from, until, ms(*busy_ns))
        });
        let bars = bars.filter(|(from, until, busy_ms)| from < until && *busy_ms > 0.0);
        chart.draw_series(bars.map(|(from, until, busy_ms)| {
            let percent = (busy_ms * 100.0 / (until - from)).min(100.0);
            Rectangle::new([(from, 0.0), (until, percent)], COLOUR.filled())
        }))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Jobs {
        let processor = |name: &str, busy_ns: Vec<u64>| Processor {
            driver: "lima".into(),
            name: name.into(),
            jobs: 2,
            execution_ns: busy_ns.iter().sum(),
            busy_ns,
            ..Processor::default()
        };
        Jobs {
            contention: 1.0,
            begin_ns: 500,
            end_ns: 500 + 3_500_000,
            slot_ns: 1_000_000,
            processors: vec![
                processor("geometry", vec![1_000_000, 0, 500_000]),
                processor("pixel", vec![0, 250_000, 0, 500_000]),
            ],
            list: Vec::new(),
        }
    }

    #[test]
    fn each_processor_has_a_part_with_its_slots() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.svg");
        jobs().draw(&path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for text in ["lima, geometry: 42.9 %", "lima, pixel: 21.4 %", "ms since"] {
            assert!(svg.contains(text), "{svg}");
        }
        let bars = svg.matches("fill=\"#3C6EB4\"").count();
        assert_eq!(bars, 4);
    }

    #[test]
    fn nothing_and_any_time_are_drawn_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.svg");
        Jobs::default().draw(&path).unwrap();
        for end_ns in [0, 500, 501, 1500, u64::MAX] {
            for slot_ns in [0, 1, u64::MAX] {
                let odd = Jobs {
                    end_ns,
                    slot_ns,
                    ..jobs()
                };
                odd.draw(&path).unwrap();
            }
        }
        let nowhere = jobs().draw(Path::new("/none/jobs.svg")).unwrap_err();
        assert!(nowhere.to_string().contains("cannot be drawn"), "{nowhere}");
    }
}
