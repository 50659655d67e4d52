//! Columns of small integers as words: the usual inputs of a run.

use numpy::{PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::rows::float_arrays::Bytes32;

/// One array for each input of a program as (rows, inputs, 32) bytes; none unless all are 64-bit integers, one for each row
/// and none negative.
#[pyfunction]
pub fn columns_to_words<'py>(
    py: Python<'py>,
    columns: Vec<Bound<'py, PyAny>>,
    rows: usize,
) -> PyResult<Option<Bound<'py, PyArray3<u8>>>> {
    let words = PyArray3::<u8>::zeros(py, [rows, columns.len(), 32], false);
    // SAFETY: the array was made a line above and nothing else refers to it.
    let bytes = unsafe { words.as_slice_mut() }.map_err(|_| PyRuntimeError::new_err("words are not contiguous"))?;
    let (places, _) = bytes.as_chunks_mut::<32>();
    for (column, values) in columns.iter().enumerate() {
        let from = column.min(places.len());
        if !put(values, &mut places[from..], columns.len(), rows) {
            return Ok(None);
        }
    }
    Ok(Some(words))
}

/// Put a column into every `width`-th of the words; false if it is not as wanted.
fn put(values: &Bound<'_, PyAny>, words: &mut [Bytes32], width: usize, rows: usize) -> bool {
    let places = words.iter_mut().step_by(width);
    let write = |(place, value): (&mut Bytes32, u64)| place[24..].copy_from_slice(&value.to_be_bytes());
    if let Ok(values) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        let values = values.as_array();
        if values.len() != rows || values.iter().any(|value| *value < 0) {
            return false;
        }
        places.zip(values.iter().map(|value| *value as u64)).for_each(write);
        return true;
    }
    let Ok(values) = values.extract::<PyReadonlyArray1<'_, u64>>() else { return false };
    let values = values.as_array();
    if values.len() != rows {
        return false;
    }
    places.zip(values.iter().copied()).for_each(write);
    true
}
