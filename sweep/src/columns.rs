//! The table as Parquet: a group of rows, uncompressed, every column optional.

use crate::SweepError;
use crate::table::{Cells, Column, Table};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::sync::Arc;

impl Table {
    /// As Parquet.
    ///
    /// # Errors
    /// [`SweepError::Parquet`].
    pub fn parquet(&self) -> std::result::Result<Vec<u8>, SweepError> {
        Ok(bytes(self)?)
    }
}

fn bytes(table: &Table) -> Result<Vec<u8>> {
    let fields: Result<Vec<_>> = table.columns.iter().map(field).collect();
    let schema = Type::group_type_builder("sweep")
        .with_fields(fields?)
        .build()?;
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties)?;
    let mut rows = writer.next_row_group()?;
    for column in &table.columns {
        // As many as the schema has.
        if let Some(mut writer) = rows.next_column()? {
            write(writer.untyped(), &column.cells)?;
            writer.close()?;
        }
    }
    rows.close()?;
    writer.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column.cells {
        Cells::Flags(_) => (Physical::BOOLEAN, None),
        Cells::Whole(_) => (Physical::INT64, None),
        Cells::Numbers(_) => (Physical::DOUBLE, None),
        Cells::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    let builder = builder.with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn write(writer: &mut ColumnWriter<'_>, cells: &Cells) -> Result<()> {
    match (writer, cells) {
        (ColumnWriter::BoolColumnWriter(writer), Cells::Flags(cells)) => {
            let (values, levels) = parts(cells);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Cells::Whole(cells)) => {
            let (values, levels) = parts(cells);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Cells::Numbers(cells)) => {
            let (values, levels) = parts(cells);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Texts(cells)) => {
            let (values, levels) = parts(cells);
            let values: Vec<_> = values
                .iter()
                .map(|text| ByteArray::from(text.as_str()))
                .collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        // Writers are of the schema, which is made of the same cells.
        _ => {}
    }
    Ok(())
}

/// The values that there are, and for each cell whether there is one.
fn parts<T: Clone>(cells: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let values = cells.iter().flatten().cloned().collect();
    let levels = cells.iter().map(|cell| i16::from(cell.is_some()));
    (values, levels.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::table;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    /// A field as CSV has it.
    fn shown(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Bool(value) => value.to_string(),
            Field::Long(value) => value.to_string(),
            Field::Double(value) => format!("{value:?}"),
            Field::Str(text) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_file_has_what_the_csv_has() {
        let table = table();
        let bytes = table.parquet().unwrap();
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let csv = table.csv();
        let mut csv = csv::Reader::from_reader(&csv[..]).into_records();
        let mut rows = 0;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let fields: Vec<_> = row
                .get_column_iter()
                .map(|(_, field)| shown(field))
                .collect();
            let record = csv.next().unwrap().unwrap();
            assert_eq!(fields, record.iter().collect::<Vec<_>>());
            rows += 1;
        }
        assert_eq!((rows, csv.next().is_none()), (6, true));
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<_> = schema.get_fields().iter().map(|it| it.name()).collect();
        let columns: Vec<_> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, columns);
    }

    #[test]
    fn an_empty_table_is_a_file_too() {
        let table = Table {
            columns: vec![Column {
                name: "x".into(),
                cells: Cells::Whole(Vec::new()),
            }],
            ..Table::default()
        };
        let bytes = table.parquet().unwrap();
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
