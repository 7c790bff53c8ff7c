//! The picture of the errors.

use crate::OTHERS;
use crate::mhz;
use crate::times::{Point, Which};
use plotters::prelude::*;

const FONT: &str = "sans-serif";
const SIZE: (u32, u32) = (920, 460);
const COLOURS: [RGBColor; 3] = [
    RGBColor(20, 90, 170),
    RGBColor(0, 130, 60),
    RGBColor(200, 70, 40),
];
/// Errors below are drawn as this one, in percent.
const LEAST: f64 = 0.001;

/// An SVG: errors over the measured times, both axes logarithmic; on the left those of the device's times and
/// on the right those of the wall times. Dots were measured on the board and rings in the guest.
///
/// # Errors
/// What plotters says.
pub fn svg(points: &[Point]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let titles = ["the device's time", "wall time"];
    for ((half, which), title) in area.split_evenly((1, 2)).iter().zip(Which::ALL).zip(titles) {
        let own: Vec<&Point> = points.iter().filter(|it| it.which == which).collect();
        let ms = |point: &Point| point.measured / 1e6;
        let percent = |point: &Point| (point.error().abs() * 100.0).max(LEAST);
        let mut chart = ChartBuilder::on(half)
            .caption(title, (FONT, 18))
            .margin(12)
            .margin_right(28)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d((0.1..10_000.0).log_scale(), (LEAST..100.0).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("measured")
            .y_desc("error of the model")
            .x_label_formatter(&|ms| format!("{ms} ms"))
            .y_label_formatter(&|percent| format!("{percent} %"))
            .label_style((FONT, 13))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        for (shift, colour) in OTHERS.into_iter().zip(COLOURS) {
            let of = |place: &'static str| {
                let own = own
                    .iter()
                    .filter(move |it| it.place == place && it.mhz == mhz(shift));
                own.map(move |it| (ms(it), percent(it)))
            };
            chart
                .draw_series(of("board").map(|at| Circle::new(at, 4, colour.filled())))?
                .label(format!("{} MHz, on the board", mhz(shift)))
                .legend(move |at| Circle::new((at.0 + 9, at.1), 4, colour.filled()));
            chart
                .draw_series(of("guest").map(|at| Circle::new(at, 5, colour)))?
                .label(format!("{} MHz, in the guest", mhz(shift)))
                .legend(move |at| Circle::new((at.0 + 9, at.1), 5, colour));
        }
        if which == Which::Wall {
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.3))
                .label_font((FONT, 13))
                .position(SeriesLabelPosition::LowerRight)
                .draw()?;
        }
    }
    area.present()?;
    drop(area);
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_drawn_for_each_error() {
        let point = |place, which| Point {
            place,
            program: "add".into(),
            which,
            mhz: 250.0,
            measured: 4e6,
            predicted: 4.1e6,
        };
        let both = ["board", "guest"];
        let points: Vec<Point> = both
            .iter()
            .flat_map(|place| Which::ALL.map(|which| point(place, which)))
            .collect();
        // And two of each colour in the legend.
        assert_eq!(svg(&points).unwrap().matches("<circle").count(), 4 + 6);
    }
}
