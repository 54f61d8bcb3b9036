//! Apache Parquet of the table of places: the columns of the CSV, with their types.

use crate::places::{self, PlaceRow};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;
use timewise_flow::Analysis;

/// Rows of a group: as many as readers like to take at once.
const GROUP_ROWS: usize = 100_000;

/// The whole table.
///
/// # Errors
/// None in practice: columns have the types of their schema and memory does not fail.
pub fn export(analysis: &Analysis) -> Result<Vec<u8>, ParquetError> {
    let created_by = format!("timewise {}", env!("CARGO_PKG_VERSION"));
    let properties = Arc::new(WriterProperties::builder().set_created_by(created_by).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema()?, properties)?;
    for rows in places::rows(analysis).chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        write(&mut group, rows)?;
        group.close()?;
    }
    writer.into_inner()
}

fn schema() -> Result<TypePtr, ParquetError> {
    let column = |name, physical, logical, optional| {
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Ok::<_, ParquetError>(Arc::new(builder.with_logical_type(logical).build()?))
    };
    let text = |name, optional| column(name, Physical::BYTE_ARRAY, Some(LogicalType::String), optional);
    let unsigned = |name, bits, optional| {
        let physical = if bits == 32 { Physical::INT32 } else { Physical::INT64 };
        column(name, physical, Some(LogicalType::integer(bits, false)), optional)
    };
    let real = |name| column(name, Physical::DOUBLE, None, false);
    let fields = vec![
        text("module", false)?,
        text("build_id", false)?,
        unsigned("code_version", 32, false)?,
        unsigned("offset", 64, false)?,
        text("function", false)?,
        text("file", true)?,
        unsigned("line", 32, true)?,
        unsigned("executions", 64, true)?,
        real("samples")?,
        real("cpu_ns")?,
        real("cycles")?,
    ];
    Ok(Arc::new(Type::group_type_builder("places").with_fields(fields).build()?))
}

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn write(group: &mut Group, rows: &[PlaceRow]) -> Result<(), ParquetError> {
    let text = |value: &str| ByteArray::from(value.as_bytes().to_vec());
    column::<ByteArrayType>(group, rows, |row| text(&row.module))?;
    column::<ByteArrayType>(group, rows, |row| text(&row.build_id))?;
    column::<Int32Type>(group, rows, |row| row.code_version as i32)?;
    column::<Int64Type>(group, rows, |row| row.offset as i64)?;
    column::<ByteArrayType>(group, rows, |row| text(&row.function))?;
    optional::<ByteArrayType>(group, rows, |row| row.file.as_deref().map(text))?;
    optional::<Int32Type>(group, rows, |row| row.line.map(|line| line as i32))?;
    optional::<Int64Type>(group, rows, |row| row.executions.map(|executions| executions as i64))?;
    column::<DoubleType>(group, rows, |row| row.samples)?;
    column::<DoubleType>(group, rows, |row| row.cpu_ns)?;
    column::<DoubleType>(group, rows, |row| row.cycles)
}

/// The next column, which has a value in each row.
fn column<T: DataType>(
    group: &mut Group,
    rows: &[PlaceRow],
    value: impl Fn(&PlaceRow) -> T::T,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = rows.iter().map(value).collect();
    fill::<T>(group, &values, None)
}

/// The next column, which may lack values.
fn optional<T: DataType>(
    group: &mut Group,
    rows: &[PlaceRow],
    value: impl Fn(&PlaceRow) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = rows.iter().map(value).collect();
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    fill::<T>(group, &values, Some(&present))
}

fn fill<T: DataType>(
    group: &mut Group,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than are written".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}
