//! A column of the table over one or two axes, as SVG.

use crate::SweepError;
use crate::file::{Axis, Plot, Sweep};
use crate::names::{EXIT_CODE, SIMULATED};
use crate::table::{Cells, Table};
use crate::value::Value;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

const SIZE: (u32, u32) = (800, 500);
/// Axes whose greatest value is so many times the least are logarithmic.
const SPREAD: f64 = 20.0;
/// Most lines with colours that can be told apart.
const LINES_MAX: usize = 12;
/// The height of a line's name, as a part of the picture's inside.
const NAME: f64 = 0.055;
const COLOURS: [RGBColor; 6] = [
    BLUE,
    RED,
    RGBColor(0, 130, 60),
    RGBColor(200, 120, 0),
    RGBColor(130, 60, 160),
    BLACK,
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    column: String,
    unit: Unit,
    x: X,
    lines: Vec<Line>,
}

/// The axis to the right.
#[derive(Clone, Debug, PartialEq)]
struct X {
    name: String,
    /// Its values if they are texts, which stand side by side.
    texts: Option<Vec<String>>,
}

/// Points of one value of the other axis.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// A unit of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Unit {
    name: &'static str,
    is: f64,
}

impl Unit {
    /// The one in which people read such values of a column.
    fn of(column: &str, most: f64) -> Self {
        let of = |name, is| Self { name, is };
        match column.ends_with("_ns") {
            false => of("", 1.0),
            true if most < 1e3 => of("ns", 1.0),
            true if most < 1e6 => of("µs", 1e3),
            true if most < 1e9 => of("ms", 1e6),
            true => of("s", 1e9),
        }
    }
}

impl Picture {
    /// What the sweep's file wants drawn of a table.
    pub fn of(sweep: &Sweep, table: &Table) -> Self {
        let Plot { column, x, lines } = sweep.plot.clone();
        let column = column.unwrap_or(SIMULATED.into());
        let (x, lines) = chosen(sweep, x, lines);
        let lines = lines.and_then(|name| sweep.axis(&name));
        let texts = texts(sweep, &x);
        let positions = positions(table, &x, texts.as_deref());
        let mut all = lines_of(table, lines, &column, &positions);
        let most = all.iter().flat_map(|line| &line.points);
        let unit = Unit::of(&column, most.map(|point| point.1).fold(0.0, f64::max));
        for line in &mut all {
            line.points.iter_mut().for_each(|point| point.1 /= unit.is);
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let x = X { name: x, texts };
        Self {
            column,
            unit,
            x,
            lines: all,
        }
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The picture's text.
    ///
    /// # Errors
    /// [`SweepError::Plot`].
    pub fn svg(&self) -> Result<String, SweepError> {
        self.drawn()
            .map_err(|error| SweepError::Plot(error.to_string()))
    }

    fn drawn(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let values = self.lines.iter().flat_map(|line| &line.points);
        let x = range(values.map(|point| point.0));
        match (&self.x.texts, x.start > 0.0 && x.end >= SPREAD * x.start) {
            (Some(texts), _) => self.on(&area, -0.5..texts.len() as f64 - 0.5)?,
            (None, true) => self.on(&area, x.log_scale().base(2.0))?,
            (None, false) => self.on(&area, widened(x))?,
        }
        drop(area);
        // XML has no place for control characters.
        Ok(text.replace(
            |it: char| it.is_control() && !it.is_whitespace(),
            "\u{fffd}",
        ))
    }

    fn on<C>(&self, area: &Area<'_>, x: C) -> Drawn
    where
        C: AsRangedCoord<Value = f64>,
        C::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let values = self.lines.iter().flat_map(|line| &line.points);
        let most = values.map(|point| point.1).fold(0.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .caption(self.title(), ("sans-serif", 20))
            .margin(16)
            .margin_right(40)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x, 0.0..self.top(most))?;
        chart
            .configure_mesh()
            .x_desc(&self.x.name)
            .y_desc(self.unit.name)
            .x_labels(self.x.texts.as_ref().map_or(11, |texts| 4 * texts.len()))
            .x_label_formatter(&|value| self.x.shown(*value))
            .label_style(("sans-serif", 14))
            .light_line_style(WHITE)
            .max_light_lines(1)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(2);
            let drawn = chart.draw_series(LineSeries::new(medians(&line.points), style))?;
            drawn
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            let dots = line.points.iter();
            chart.draw_series(dots.map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        if self.lines.len() > 1 {
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK)
                .label_font(("sans-serif", 14))
                .position(SeriesLabelPosition::UpperLeft)
                .draw()?;
        }
        area.present()?;
        Ok(())
    }

    /// Where the upward axis ends: above all points, with room for the lines' names.
    fn top(&self, most: f64) -> f64 {
        let names = match self.lines.len() {
            0 | 1 => 0.0,
            lines => NAME * (lines + 1) as f64,
        };
        (most * 1.03 / (1.0 - names)).max(f64::MIN_POSITIVE)
    }

    fn title(&self) -> String {
        let name = match self.unit.name {
            "" => &self.column,
            _ => self.column.trim_end_matches("_ns"),
        };
        format!("{name} over {}", self.x.name)
    }
}

impl X {
    fn shown(&self, value: f64) -> String {
        let Some(texts) = &self.texts else {
            // What a logarithm's inverse leaves behind.
            let rounded = (value * 1e6).round() / 1e6;
            return rounded.to_string();
        };
        let nearest = value.round();
        let is_at = (value - nearest).abs() < 1e-6 && nearest >= 0.0;
        let text = texts.get(nearest as usize).filter(|_| is_at);
        text.cloned().unwrap_or_default()
    }
}

/// The axes: as the file says, or the first of several values.
fn chosen(sweep: &Sweep, x: Option<String>, lines: Option<String>) -> (String, Option<String>) {
    let several = || sweep.axes.iter().filter(|axis| axis.values.len() > 1);
    let free = |taken: Option<&String>| {
        let mut axes = several().map(|axis| axis.name.clone());
        axes.find(|name| taken != Some(name))
    };
    let first = sweep.axes.first().map(|axis| axis.name.clone());
    let x = x.or_else(|| free(lines.as_ref())).or(first);
    let x = x.unwrap_or_default();
    let lines = lines.or_else(|| free(Some(&x)));
    (x, lines)
}

/// Numbers further from 1 than this, either way, stand side by side as texts do: the differences
/// and ratios of such are no numbers any more.
const FARTHEST: f64 = 1e100;

/// Whether a number has its place on a scale.
fn is_near(number: f64) -> bool {
    number == 0.0 || (1.0 / FARTHEST..=FARTHEST).contains(&number.abs())
}

/// An axis' values as texts, if not all are numbers that have their places on a scale.
fn texts(sweep: &Sweep, name: &str) -> Option<Vec<String>> {
    let values = &sweep.axis(name)?.values;
    let are_numbers = values
        .iter()
        .all(|value| value.number().is_some_and(is_near));
    let texts = || values.iter().map(ToString::to_string).collect();
    (!are_numbers).then(texts)
}

/// Where each row of the table stands.
fn positions(table: &Table, x: &str, texts: Option<&[String]>) -> Vec<Option<f64>> {
    let Some(cells) = table.column(x) else {
        return Vec::new();
    };
    let at = |at: usize| {
        let shown = cells.shown(at);
        match texts {
            Some(texts) => {
                let at = texts.iter().position(|text| *text == shown);
                at.map(|at| at as f64)
            }
            None => shown.parse().ok(),
        }
    };
    (0..cells.len()).map(at).collect()
}

/// The rows that did not fail, a line for each of these values.
fn lines_of(
    table: &Table,
    axis: Option<&Axis>,
    column: &str,
    positions: &[Option<f64>],
) -> Vec<Line> {
    let all = || Line {
        name: String::new(),
        points: points(table, None, column, positions),
    };
    let of = |axis: &Axis, value: &Value| Line {
        name: format!("{} {value}", axis.name),
        points: points(table, Some((&axis.name, value)), column, positions),
    };
    let lines: Vec<_> = match axis {
        Some(axis) => {
            let values = axis.values.iter().take(LINES_MAX);
            values.map(|value| of(axis, value)).collect()
        }
        None => vec![all()],
    };
    let has_points = |line: &Line| !line.points.is_empty();
    lines.into_iter().filter(has_points).collect()
}

/// The rows that did not fail, of this value of an axis.
fn points(
    table: &Table,
    of: Option<(&str, &Value)>,
    column: &str,
    positions: &[Option<f64>],
) -> Vec<(f64, f64)> {
    let cells = of.and_then(|(name, value)| Some((table.column(name)?, value)));
    let is_of = |at| cells.is_none_or(|(cells, value)| cells.is(at, value));
    let is_well = |at| column == EXIT_CODE || number(table, EXIT_CODE, at) == Some(0);
    let rows = positions.iter().enumerate();
    let rows = rows.filter(|(at, _)| is_of(*at) && is_well(*at));
    rows.filter_map(|(at, x)| Some(((*x)?, number(table, column, at)? as f64)))
        .collect()
}

/// A whole number of a row.
fn number(table: &Table, column: &str, at: usize) -> Option<i64> {
    match table.column(column)? {
        Cells::Whole(cells) => cells.get(at).copied().flatten(),
        _ => None,
    }
}

/// The median of the points at each place; they are in its order.
fn medians(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let at_one = points.chunk_by(|a, b| a.0 == b.0);
    let median = |points: &[(f64, f64)]| {
        let mut values: Vec<_> = points.iter().map(|point| point.1).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let value = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        (points[0].0, value)
    };
    at_one.map(median).collect()
}

fn range(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    least..values.fold(f64::NEG_INFINITY, f64::max)
}

/// A range that is one, with room at both ends.
fn widened(range: Range<f64>) -> Range<f64> {
    let room = match range.end - range.start {
        span if span > 0.0 && span.is_finite() => span * 0.03,
        _ => 1.0,
    };
    match range.start.is_finite() {
        true => range.start - room..range.end + room,
        false => 0.0..1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::{sized, sweep, table, table_of};

    fn picture(plot: &str) -> Picture {
        let sweep = sweep(plot);
        Picture::of(&sweep, &table())
    }

    #[test]
    fn the_first_axes_of_several_values_are_drawn() {
        // Point 2, of size 1, has failed.
        let picture = picture("");
        assert_eq!(picture.x.name, "size");
        let names: Vec<_> = picture
            .lines
            .iter()
            .map(|line| line.name.as_str())
            .collect();
        assert_eq!(names, ["mode a,\"b\"", "mode 7"]);
        // Simulated time is 2 to 7 µs.
        assert_eq!(picture.unit.name, "µs");
        assert_eq!(picture.lines[0].points, [(2.0, 5.0), (2.0, 6.0)]);
        assert_eq!(medians(&picture.lines[0].points), [(2.0, 5.5)]);
        let svg = picture.svg().unwrap();
        for text in ["simulated over size", "µs", "mode 7"] {
            assert!(svg.contains(text), "{svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.matches("<polyline").count() >= 2);
    }

    #[test]
    fn texts_stand_side_by_side() {
        let picture = picture("[plot]\nx = \"mode\"\nlines = \"part\"\ncolumn = \"run_ns\"");
        assert_eq!(picture.x.shown(1.0), "7");
        assert_eq!(
            (picture.x.shown(0.5), picture.x.shown(9.0)),
            Default::default()
        );
        let svg = picture.svg().unwrap();
        for text in ["run over mode", "part 0.5", "a,"] {
            assert!(svg.contains(text), "{svg}");
        }
    }

    #[test]
    fn any_values_are_drawn() {
        let sweep = sweep("");
        let nothing = Picture::of(&sweep, &Table::default());
        assert!(nothing.is_empty());
        nothing.svg().unwrap();
        for xs in [
            [0.0, 0.0],
            [1.0, 1e300],
            [-1e300, 1e300],
            [5e-324, 1e-300],
            [1.0, 4096.0],
        ] {
            for y in [0.0, 1e-300, 1e19] {
                let mut picture = Picture::of(&sweep, &table());
                picture.lines.truncate(1);
                picture.lines[0].points = xs.map(|x| (x, y)).to_vec();
                picture.svg().unwrap();
            }
        }
    }

    #[test]
    fn numbers_at_the_ends_of_floating_point_stand_side_by_side() {
        for far in ["1.0e308, -1.0e308", "5.0e-324, 1.0", "1.0, 1.7e308"] {
            let of = |sizes: &str| {
                let sweep = sized(sizes);
                (table_of(&sweep), sweep)
            };
            let (table, sweep) = of(far);
            let picture = Picture::of(&sweep, &table);
            assert_eq!(picture.x.texts.as_ref().map(Vec::len), Some(2), "{far}");
            let svg = picture.svg().unwrap();
            assert_eq!(svg.matches("<circle").count(), 5, "{far}");
            let (table, sweep) = of("1.0e100, 1.0e-100");
            let picture = Picture::of(&sweep, &table);
            assert_eq!(picture.x.texts, None);
            picture.svg().unwrap();
        }
    }
}
