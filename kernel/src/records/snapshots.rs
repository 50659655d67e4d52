//! The table `market_snapshots` of one run or of many, by column.

use std::{collections::HashMap, sync::Arc};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use super::{
    figures::{Figures, Names, Values},
    parquet::{Cells, Column, Kind, Texts, encode},
};

/// A row that was made one by one: step, block, timestamp, subject, metric, value, number, unit.
type Row = (i64, i64, i64, String, String, String, f64, String);

/// Figures of one moment of a run.
struct Part {
    run: Arc<str>,
    /// Number of the first row within the run.
    first: i64,
    step: i64,
    block: i64,
    timestamp: i64,
    values: Arc<Values>,
}

/// Rows of market figures, in the order of the store. The Python class `SnapshotColumns`.
#[pyclass(module = "mayavi._kernel")]
#[derive(Default)]
pub struct SnapshotColumns {
    parts: Vec<Part>,
    rows: usize,
}

impl SnapshotColumns {
    fn push(&mut self, run: &str, first: i64, moment: (i64, i64, i64), values: Arc<Values>) {
        let known = self.parts.last().filter(|part| *part.run == *run);
        let run = known.map_or_else(|| Arc::from(run), |part| part.run.clone());
        let (step, block, timestamp) = moment;
        self.rows += values.numbers.len();
        self.parts.push(Part { run, first, step, block, timestamp, values });
    }

    fn integers(&self, of: impl Fn(&Part) -> i64) -> Cells<'_> {
        let cells = self.parts.iter().flat_map(|part| std::iter::repeat_n(of(part), part.values.numbers.len()));
        Cells::Integers(cells.collect())
    }

    /// Texts of `names`, which many parts share.
    fn named(&self, of: impl Fn(&Names) -> &[String]) -> Cells<'_> {
        let mut texts = Texts::default();
        let mut known = HashMap::new();
        for part in &self.parts {
            let numbers: &Vec<u32> = known.entry(Arc::as_ptr(&part.values.names)).or_insert_with(|| {
                let names: &[String] = of(&part.values.names);
                names.iter().map(|name| texts.number(name.as_bytes())).collect()
            });
            texts.cells.extend_from_slice(numbers);
        }
        Cells::Texts(texts)
    }

    /// Values as text, which parts of interleaved runs may share.
    fn values(&self) -> Cells<'_> {
        let mut texts = Texts::default();
        let mut known: HashMap<_, std::ops::Range<usize>> = HashMap::new();
        for part in &self.parts {
            let at = texts.cells.len();
            if let Some(range) = known.get(&Arc::as_ptr(&part.values)) {
                texts.cells.extend_from_within(range.clone());
                continue;
            }
            part.values.texts().for_each(|text| texts.push(text));
            known.insert(Arc::as_ptr(&part.values), at..texts.cells.len());
        }
        Cells::Texts(texts)
    }
}

#[pymethods]
impl SnapshotColumns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    /// Add figures of the run `run_id`; `first` numbers their first row.
    fn add(&mut self, run_id: &str, first: i64, moment: (i64, i64, i64), figures: &Figures) {
        self.push(run_id, first, moment, figures.0.clone());
    }

    /// Add rows that were made one by one.
    fn add_rows(&mut self, run_id: &str, first: i64, rows: Vec<Row>) {
        for (number, (step, block, timestamp, subject, metric, value, scaled, unit)) in (first..).zip(rows) {
            let names = Names::plain(vec![subject], vec![metric], vec![unit]);
            let values = Values::of_texts(Arc::new(names), &[value], vec![scaled]);
            self.push(run_id, number, (step, block, timestamp), Arc::new(values));
        }
    }

    /// Move all rows of `other` behind these.
    fn extend(&mut self, other: &mut Self) {
        self.rows += std::mem::take(&mut other.rows);
        self.parts.append(&mut other.parts);
    }

    /// Encode the rows as a Parquet file.
    fn parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut runs = Texts::default();
        for part in &self.parts {
            let number = runs.number(part.run.as_bytes());
            runs.cells.extend(std::iter::repeat_n(number, part.values.numbers.len()));
        }
        let numbered = self.parts.iter().flat_map(|part| (part.first..).take(part.values.numbers.len()));
        let numbers = self.parts.iter().flat_map(|part| &part.values.numbers).copied();
        let columns = [
            ("run_id", Kind::Text, Cells::Texts(runs)),
            ("seq", Kind::Integer, Cells::Integers(numbered.collect())),
            ("step", Kind::Integer, self.integers(|part| part.step)),
            ("block_number", Kind::Integer, self.integers(|part| part.block)),
            ("timestamp", Kind::Integer, self.integers(|part| part.timestamp)),
            ("subject", Kind::Text, self.named(|names| &names.subjects)),
            ("metric", Kind::Text, self.named(|names| &names.metrics)),
            ("value", Kind::Text, self.values()),
            ("number", Kind::Float, Cells::Floats(numbers.collect())),
            ("unit", Kind::Text, self.named(|names| &names.units)),
        ];
        let columns = columns.map(|(name, kind, cells)| Column { name, kind, cells });
        let file = encode(&columns).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &file))
    }
}
