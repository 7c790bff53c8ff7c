//! Numbers and tables for people, as reports have them.

use comfy_table::{CellAlignment, Table, presets};
pub use gil_report::{bytes, time};
use gil_wire::api;
use gil_wire::words::Words;

/// A value, or `-` for none.
pub fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".into())
}

/// One and many of something.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let word = if count == 1 { one } else { many };
    format!("{count} {word}")
}

/// An API's name in options.
pub fn api_name(number: u16) -> String {
    api::api(number).map_or_else(|| format!("API {number}"), |api| api.name.into())
}

/// Text of a recording, without what a terminal obeys.
pub fn shown(text: &str) -> String {
    Words::from(text).to_string()
}

/// A table without lines, whose columns but the first are aligned to the right.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt() + "\n"
}
