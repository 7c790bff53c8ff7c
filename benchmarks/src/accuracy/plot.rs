//! The picture of measured and simulated times.

use super::{Accuracy, Row};
use crate::error::BenchError;
use plotters::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

const SIZE: (u32, u32) = (720, 560);
const BEFORE: RGBColor = RGBColor(200, 70, 40);
const AFTER: RGBColor = RGBColor(20, 90, 170);
const FONT: &str = "sans-serif";

/// An SVG: each program's time on the board itself and in the guest, both axes logarithmic.
/// On the diagonal they are the same.
///
/// # Errors
/// [`BenchError::Plot`].
pub fn accuracy_plot(accuracy: &Accuracy) -> Result<String, BenchError> {
    let mut svg = String::new();
    draw(accuracy, &mut svg).map_err(|error| BenchError::Plot {
        path: PathBuf::from("--plot"),
        why: error.to_string(),
    })?;
    Ok(svg)
}

fn us(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).max(0.1)
}

fn draw(accuracy: &Accuracy, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let times = |row: &Row| [row.native, row.before, row.after].map(us);
    let all: Vec<f64> = accuracy.rows.iter().flat_map(times).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min) / 1.6;
    let most = all.iter().copied().fold(0.0, f64::max) * 1.6;
    if !(least.is_finite() && most > least) {
        return Err("there are no times".into());
    }
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Programs' times, measured and simulated", (FONT, 20))
        .margin(16)
        .margin_right(32)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((least..most).log_scale(), (least..most).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("on the board itself")
        .y_desc("simulated")
        .x_label_formatter(&|value| label(*value))
        .y_label_formatter(&|value| label(*value))
        .label_style((FONT, 14))
        .x_labels(5)
        .y_labels(5)
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()?;
    let diagonal = [(least, least), (most, most)];
    chart.draw_series(LineSeries::new(diagonal, BLACK.mix(0.5)))?;
    let before = |row: &Row| Circle::new((us(row.native), us(row.before)), 4, BEFORE);
    chart
        .draw_series(accuracy.rows.iter().map(before))?
        .label("without a profile")
        .legend(|at| Circle::new((at.0 + 9, at.1), 4, BEFORE));
    let of = |is_fitted: bool| {
        let rows = accuracy.rows.iter();
        rows.filter(move |row| row.is_fitted == is_fitted)
            .map(|row| (us(row.native), us(row.after)))
    };
    let fitted = |at| Circle::new(at, 4, AFTER.filled());
    chart
        .draw_series(of(true).map(fitted))?
        .label("with the profile, fitted")
        .legend(move |at| Circle::new((at.0 + 9, at.1), 4, AFTER.filled()));
    let left_out = |at| TriangleMarker::new(at, 6, AFTER.filled());
    chart
        .draw_series(of(false).map(left_out))?
        .label("with the profile, left out of the fit")
        .legend(move |at| TriangleMarker::new((at.0 + 9, at.1), 6, AFTER.filled()));
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 14))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    area.present()?;
    Ok(())
}

/// A time in microseconds as people write it.
fn label(us: f64) -> String {
    match us {
        ..1e3 => format!("{us:.3} us").replace(".000", ""),
        1e3..1e6 => format!("{} ms", us / 1e3),
        _ => format!("{} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Estimate, Fit, Unknown};

    fn accuracy(rows: Vec<Row>) -> Accuracy {
        let one = Estimate {
            value: 1.0,
            within: 0.0,
        };
        let fit = Fit {
            unknown: Unknown::Nothing,
            scale: one,
            offset: one,
        };
        Accuracy { rows, fit }
    }

    #[test]
    fn a_point_is_drawn_for_each_time() {
        let row = |is_fitted, us| Row {
            name: "a".into(),
            is_fitted,
            native: Duration::from_micros(us),
            before: Duration::from_micros(us / 2),
            after: Duration::from_micros(us),
            crossed: None,
            repeated: None,
            is_disturbed: false,
        };
        let svg = accuracy_plot(&accuracy(vec![row(true, 100), row(false, 90_000)])).unwrap();
        // Two before, one after that is fitted, and one of each in the legend.
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 2, "{svg}");
        assert!(accuracy_plot(&accuracy(Vec::new())).is_err());
    }
}
