//! All rows as one table.

use crate::SweepError;
use crate::file::Axis;
use crate::folder::{Folder, Found};
use crate::grid::Grid;
use crate::names::{self, EXIT_CODE, GIL, KEY, POINT, REASON, SIMULATOR, WARNING};
use crate::row::Row;
use crate::value::Value;

/// A table: its columns are of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// Rows that are damaged, by their points' numbers: they are in no column.
    pub damaged: Vec<usize>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub cells: Cells,
}

/// Cells of one type; of a row that has none, nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Yes or no.
    Flags(Vec<Option<bool>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Flags(cells) => cells.len(),
            Self::Whole(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one is this value, in the cells' own type.
    pub(crate) fn is(&self, at: usize, value: &Value) -> bool {
        match (self, value) {
            (Self::Numbers(cells), _) => {
                let number = cells.get(at).copied().flatten();
                number.is_some() && number == value.number()
            }
            _ => self.shown(at) == value.to_string(),
        }
    }

    /// One as a text; of none, an empty one.
    pub(crate) fn shown(&self, at: usize) -> String {
        fn of<T: Clone + Into<Value>>(cells: &[Option<T>], at: usize) -> String {
            let cell = cells.get(at).cloned().flatten();
            cell.map(|cell| cell.into().to_string()).unwrap_or_default()
        }
        match self {
            Self::Flags(cells) => of(cells, at),
            Self::Whole(cells) => of(cells, at),
            Self::Numbers(cells) => of(cells, at),
            Self::Texts(cells) => of(cells, at),
        }
    }
}

impl Table {
    /// The rows that are in the folder, in the order of their points.
    ///
    /// # Errors
    /// [`SweepError::Read`].
    pub fn of(grid: &Grid<'_>, folder: &Folder) -> Result<Self, SweepError> {
        let mut rows = Vec::new();
        let mut damaged = Vec::new();
        for (number, key) in (1..).zip(grid.keys()) {
            match folder.row(key)? {
                Found::None => {}
                // A number in JSON need not be the same to the last bit.
                Found::Row(row) => rows.push((
                    number as i64,
                    Row {
                        axes: grid.axes(number),
                        ..*row
                    },
                )),
                Found::Damaged => damaged.push(number),
            }
        }
        let columns = columns(&grid.sweep().axes, &rows);
        Ok(Self { columns, damaged })
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&Cells> {
        let column = self.columns.iter().find(|column| column.name == name);
        column.map(|column| &column.cells)
    }

    /// How many of its rows failed.
    pub fn failed(&self) -> usize {
        let is_failed = |code: &&Option<i64>| code.is_some_and(|code| code != 0);
        match self.column(EXIT_CODE) {
            Some(Cells::Whole(codes)) => codes.iter().filter(is_failed).count(),
            _ => 0,
        }
    }

    /// How many of its rows have a warning.
    pub fn warned(&self) -> usize {
        match self.column(WARNING) {
            Some(Cells::Texts(warnings)) => warnings.iter().flatten().count(),
            _ => 0,
        }
    }

    /// As CSV.
    pub fn csv(&self) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        // A vector takes everything, and all records have as many fields.
        let _ = out.write_record(self.columns.iter().map(|column| &column.name));
        for at in 0..self.len() {
            let _ = out.write_record(self.columns.iter().map(|column| column.cells.shown(at)));
        }
        out.into_inner().unwrap_or_default()
    }
}

type Rows = [(i64, Row)];

fn columns(axes: &[Axis], rows: &Rows) -> Vec<Column> {
    let texts =
        |of: fn(&Row) -> Option<String>| Cells::Texts(rows.iter().map(|it| of(&it.1)).collect());
    let mut columns = vec![
        column(
            POINT,
            Cells::Whole(rows.iter().map(|(number, _)| Some(*number)).collect()),
        ),
        column(KEY, texts(|row| Some(row.key.clone()))),
    ];
    columns.extend(
        axes.iter()
            .map(|axis| column(&axis.name, values(axis, rows))),
    );
    let numbers = names::numbers().map(|name| column(name, numbers(name, rows)));
    columns.extend(numbers);
    // Beside the code.
    let at = 3 + axes.len();
    columns.insert(at, column(REASON, texts(|row| row.reason.clone())));
    columns.insert(at + 1, column(WARNING, texts(|row| row.warning.clone())));
    columns.push(column(SIMULATOR, texts(|row| row.simulator.clone())));
    columns.push(column(GIL, texts(|row| row.gil.clone())));
    columns
}

fn column(name: &str, cells: Cells) -> Column {
    let name = name.into();
    Column { name, cells }
}

fn numbers(name: &str, rows: &Rows) -> Cells {
    let of = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Cells::Whole(
        rows.iter()
            .map(|(_, row)| row.number(name).map(of))
            .collect(),
    )
}

/// An axis' values of these rows, of a type that takes all that the axis has.
fn values(axis: &Axis, rows: &Rows) -> Cells {
    let is_all = |is: fn(&Value) -> bool| axis.values.iter().all(is);
    let values = rows.iter().map(|(_, row)| {
        let of_axis = row.axes.0.iter().find(|(name, _)| *name == axis.name);
        of_axis.map(|(_, value)| value)
    });
    if is_all(|value| matches!(value, Value::Flag(_))) {
        let flag = |value: &Value| matches!(value, Value::Flag(true));
        return Cells::Flags(values.map(|value| value.map(flag)).collect());
    }
    if is_all(|value| matches!(value, Value::Whole(_))) {
        let whole = |value: &Value| match value {
            Value::Whole(value) => Some(*value),
            _ => None,
        };
        return Cells::Whole(values.map(|value| value.and_then(whole)).collect());
    }
    if is_all(|value| value.number().is_some()) {
        return Cells::Numbers(values.map(|value| value.and_then(Value::number)).collect());
    }
    Cells::Texts(values.map(|value| value.map(ToString::to_string)).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::file::Sweep;
    use crate::folder::With;
    use crate::names::is_column;
    use crate::row;
    use std::path::Path;

    const TEXT: &str = r#"
version = 1
program = ["p", "{size}", "{mode}", "{part}"]
[[axis]]
name = "size"
values = [1, 2]
[[axis]]
name = "mode"
values = ["a,\"b\"", 7]
[[axis]]
name = "part"
values = [0.5, 1]
[[axis]]
option = "--count"
values = [true]
"#;

    /// Such a sweep, with more behind its axes.
    pub fn sweep(more: &str) -> Sweep {
        Sweep::parse(Path::new("s.toml"), &format!("{TEXT}{more}")).unwrap()
    }

    /// The same with other sizes.
    pub fn sized(sizes: &str) -> Sweep {
        let text = TEXT.replacen("values = [1, 2]", &format!("values = [{sizes}]"), 1);
        Sweep::parse(Path::new("s.toml"), &text).unwrap()
    }

    /// A table of such points; the last has no row, and that of the first is damaged.
    pub fn table() -> Table {
        table_of(&sweep(""))
    }

    pub fn table_of(sweep: &Sweep) -> Table {
        let grid = Grid::new(sweep, "").unwrap();
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::at(temp.path());
        let held = folder.hold(With::Nobody).unwrap();
        for number in 1..grid.len() {
            let point = grid.point(number).unwrap();
            let mut row = row::tests::row(&point.key, &[], 1000 * number as u64);
            row.axes = point.axes;
            row.exit_code = u8::from(number == 2);
            row.warning = (number == 3).then(|| "it does not count".into());
            held.commit(&row).unwrap();
        }
        let first = temp.path().join("rows").join(&grid.keys()[0]);
        std::fs::write(first.with_extension("row"), "x").unwrap();
        Table::of(&grid, &folder).unwrap()
    }

    #[test]
    fn rows_are_in_the_order_of_their_points() {
        let table = table();
        assert_eq!((table.len(), table.failed(), table.warned()), (6, 1, 1));
        assert_eq!(table.damaged, [1]);
        let names: Vec<_> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names[..9],
            [
                "point",
                "key",
                "size",
                "mode",
                "part",
                "count",
                "exit_code",
                "reason",
                "warning"
            ]
        );
        assert_eq!(names[9], "simulated_ns");
        assert!(
            names
                .iter()
                .all(|name| is_column(name) || ["size", "mode", "part", "count"].contains(name))
        );
        let sizes = [1, 1, 1, 2, 2, 2].map(Some).to_vec();
        assert_eq!(table.column("size"), Some(&Cells::Whole(sizes)));
        let parts = [1.0, 0.5, 1.0, 0.5, 1.0, 0.5].map(Some).to_vec();
        assert_eq!(table.column("part"), Some(&Cells::Numbers(parts)));
        assert_eq!(
            table.column("count"),
            Some(&Cells::Flags(vec![Some(true); 6]))
        );
        let csv = String::from_utf8(table.csv()).unwrap();
        let mut lines = csv.lines();
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with("point,key,size,mode,part,count,exit_code,")
        );
        let line = lines.next().unwrap();
        assert!(line.starts_with("2,"), "{line}");
        assert!(
            line.contains(",1,\"a,\"\"b\"\"\",1.0,true,1,,,2000,"),
            "{line}"
        );
        assert_eq!(csv.lines().count(), 7);
    }
}
