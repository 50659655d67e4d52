//! Parquet files of columns that Python holds in lists.

use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedStr, types::PyBytes};

use super::parquet::{Cells, Column, Kind, Texts, encode};

/// Encode columns, each a name, a kind and its values, as a Parquet file.
#[pyfunction]
pub fn parquet_bytes<'py>(
    py: Python<'py>,
    columns: Vec<(String, String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let given: Vec<Given> = columns.iter().map(|(_, kind, values)| Given::of(kind, values)).collect::<PyResult<_>>()?;
    let named = columns.iter().map(|(name, _, _)| name.as_str()).zip(given.iter());
    let columns: Vec<_> = named.map(|(name, given)| given.column(name)).collect();
    let file = encode(&columns).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &file))
}

/// Values of a column, with the texts that its cells borrow.
enum Given {
    Integers(Kind, Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<PyBackedStr>),
}

impl Given {
    fn of(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Some(kind) = Kind::named(kind) else {
            return Err(PyValueError::new_err(format!("'{kind}' is not a kind of column")));
        };
        let values = values.try_iter()?;
        Ok(match kind {
            Kind::Float => Self::Floats(values.map(|each| each?.extract()).collect::<PyResult<_>>()?),
            Kind::Text => Self::Texts(values.map(|each| each?.extract()).collect::<PyResult<_>>()?),
            Kind::Unsigned => {
                let cells = values.map(|each| Ok(each?.extract::<u64>()? as i64));
                Self::Integers(kind, cells.collect::<PyResult<_>>()?)
            }
            Kind::Integer | Kind::Time => {
                Self::Integers(kind, values.map(|each| each?.extract()).collect::<PyResult<_>>()?)
            }
        })
    }

    fn column<'a>(&'a self, name: &'a str) -> Column<'a> {
        let (kind, cells) = match self {
            Self::Integers(kind, cells) => (*kind, Cells::Integers(cells.clone())),
            Self::Floats(cells) => (Kind::Float, Cells::Floats(cells.clone())),
            Self::Texts(values) => {
                let mut texts = Texts::default();
                values.iter().for_each(|text| texts.push(text.as_bytes()));
                (Kind::Text, Cells::Texts(texts))
            }
        };
        Column { name, kind, cells }
    }
}
