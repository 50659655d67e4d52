//! Market figures read at one moment: names that are known beforehand, and values as text and as number.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyInt, PyList},
};

use super::numbers::{Scale, push_float, push_integer};

/// Names of a group of figures. The Python class `FigureNames`.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct FigureNames(pub Arc<Names>);

/// One entry for each figure.
pub struct Names {
    pub subjects: Vec<String>,
    pub metrics: Vec<String>,
    pub units: Vec<String>,
    /// Subject and metric, and unit, as they stand in a line of the digest.
    heads: Vec<Vec<u8>>,
    tails: Vec<Vec<u8>>,
    scales: Vec<Divisor>,
}

/// What a value is divided by; as a Python integer too, for values of more than 64 bits.
struct Divisor {
    scale: Option<Scale>,
    python: Py<PyInt>,
}

impl Names {
    pub fn len(&self) -> usize {
        self.subjects.len()
    }

    /// Names without divisors, for rows whose numbers are given.
    pub fn plain(subjects: Vec<String>, metrics: Vec<String>, units: Vec<String>) -> Self {
        Self { subjects, metrics, units, heads: Vec::new(), tails: Vec::new(), scales: Vec::new() }
    }
}

#[pymethods]
impl FigureNames {
    /// `scales` has what the values of each figure are divided by.
    #[new]
    fn new(
        subjects: Vec<String>,
        metrics: Vec<String>,
        units: Vec<String>,
        scales: Vec<Bound<'_, PyInt>>,
    ) -> PyResult<Self> {
        if [metrics.len(), units.len(), scales.len()] != [subjects.len(); 3] {
            return Err(PyValueError::new_err("names of figures have one length"));
        }
        let heads = subjects.iter().zip(&metrics).map(|(subject, metric)| {
            let mut head = vec![b','];
            push_json(&mut head, subject);
            head.push(b',');
            push_json(&mut head, metric);
            head.extend_from_slice(b",\"");
            head
        });
        let tails = units.iter().map(|unit| {
            let mut tail = vec![b','];
            push_json(&mut tail, unit);
            tail.extend_from_slice(b"]\n");
            tail
        });
        let divisors = scales.iter().map(|each| Divisor {
            scale: each.extract::<u64>().ok().and_then(Scale::of),
            python: each.clone().unbind(),
        });
        let (heads, tails, scales) = (heads.collect(), tails.collect(), divisors.collect());
        Ok(Self(Arc::new(Names { subjects, metrics, units, heads, tails, scales })))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Values of figures with the same names. The Python class `Figures`.
#[pyclass(frozen, module = "mayavi._kernel")]
pub struct Figures(pub Arc<Values>);

pub struct Values {
    pub names: Arc<Names>,
    texts: Vec<u8>,
    /// Where each text ends.
    ends: Vec<u32>,
    pub numbers: Vec<f64>,
}

impl Values {
    fn empty(names: Arc<Names>) -> Self {
        let count = names.len();
        Self { names, texts: Vec::with_capacity(16 * count), ends: Vec::with_capacity(count), numbers: Vec::new() }
    }

    /// Values that are texts already.
    pub fn of_texts(names: Arc<Names>, texts: &[String], numbers: Vec<f64>) -> Self {
        let mut values = Self::empty(names);
        for text in texts {
            values.texts.extend_from_slice(text.as_bytes());
            values.ends.push(values.texts.len() as u32);
        }
        values.numbers = numbers;
        values
    }

    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.texts[start as usize..*end as usize])
    }

    fn push(&mut self, value: u64, number: f64) {
        push_integer(&mut self.texts, i128::from(value));
        self.ends.push(self.texts.len() as u32);
        self.numbers.push(number);
    }

    /// Add a value that Python writes and divides: it is negative, or has more than 64 bits.
    fn push_python(&mut self, value: &Bound<'_, PyAny>, divisor: &Bound<'_, PyAny>) -> PyResult<()> {
        self.texts.extend_from_slice(value.str()?.to_str()?.as_bytes());
        self.ends.push(self.texts.len() as u32);
        self.numbers.push(value.div(divisor)?.extract()?);
        Ok(())
    }
}

#[pymethods]
impl Figures {
    /// `values` is a list of integers, or an array of unsigned 64-bit integers. Raises `TypeError` for anything else.
    #[new]
    fn new(py: Python<'_>, names: &FigureNames, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let names = &names.0;
        let mut found = Values::empty(names.clone());
        if let Ok(values) = values.cast::<PyList>() {
            check_length(names, values.len())?;
            for (value, divisor) in values.iter().zip(&names.scales) {
                if !value.is_exact_instance_of::<PyInt>() {
                    return Err(PyTypeError::new_err("a figure is an integer"));
                }
                match (divisor.scale, value.extract::<u64>()) {
                    (Some(scale), Ok(value)) => found.push(value, scale.divide(value)),
                    _ => found.push_python(&value, divisor.python.bind(py))?,
                }
            }
            return Ok(Self(Arc::new(found)));
        }
        let values: PyReadonlyArray1<'_, u64> = values.extract()?;
        check_length(names, values.as_array().len())?;
        for (value, divisor) in values.as_array().iter().zip(&names.scales) {
            match divisor.scale {
                Some(scale) => found.push(*value, scale.divide(*value)),
                None => found.push_python(value.into_pyobject(py)?.as_any(), divisor.python.bind(py))?,
            }
        }
        Ok(Self(Arc::new(found)))
    }

    fn __len__(&self) -> usize {
        self.0.numbers.len()
    }

    fn texts(&self) -> Vec<&str> {
        self.0.texts().map(|text| str::from_utf8(text).expect("decimal digits")).collect()
    }

    fn numbers(&self) -> Vec<f64> {
        self.0.numbers.clone()
    }

    /// Lines of the digest for figures read after `step`, in this block.
    fn lines<'py>(&self, py: Python<'py>, step: i64, block: i64, timestamp: i64) -> Bound<'py, PyBytes> {
        let (values, moment) = (&self.0, format!("[\"SnapshotRow\",{step},{block},{timestamp}"));
        let mut out = Vec::with_capacity(values.numbers.len() * 128);
        let names = values.names.heads.iter().zip(&values.names.tails);
        for ((head, tail), (text, number)) in names.zip(values.texts().zip(&values.numbers)) {
            out.extend_from_slice(moment.as_bytes());
            out.extend_from_slice(head);
            out.extend_from_slice(text);
            out.extend_from_slice(b"\",");
            push_float(&mut out, *number);
            out.extend_from_slice(tail);
        }
        PyBytes::new(py, &out)
    }
}

fn check_length(names: &Names, count: usize) -> PyResult<()> {
    if count == names.len() {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{count} values for {} figures", names.len())))
}

/// Append a text as JSON, other than ASCII characters as they are.
fn push_json(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
