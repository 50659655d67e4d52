//! Float arrays of a run: what a program takes and hands back without a detour through words in Python.

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods, ndarray::ArrayView2};
use pyo3::{exceptions::PyValueError, prelude::*};

use super::program::{FloatBlock, Program};

/// A word, big-endian.
pub type Bytes32 = [u8; 32];

/// What a row takes: `floats` of all rows, and the number of the first word that they become.
pub type Taken<'a> = (usize, ArrayView2<'a, f64>);

/// The arrays given for a program's float inputs; each has a column for every word.
pub fn taken<'a>(program: &Program, floats: &'a [PyReadonlyArray2<'_, f64>], rows: usize) -> PyResult<Vec<Taken<'a>>> {
    let blocks = program.float_inputs();
    if blocks.len() != floats.len() {
        return Err(PyValueError::new_err(format!(
            "the program takes {} arrays of floats, got {}",
            blocks.len(),
            floats.len()
        )));
    }
    let fit = |(block, array): (&FloatBlock, &'a PyReadonlyArray2<'_, f64>)| {
        if array.shape() != [rows, block.count] {
            return Err(PyValueError::new_err(format!(
                "'{}' has shape {:?}, the program wants ({rows}, {})",
                block.name,
                array.shape(),
                block.count
            )));
        }
        Ok((block.first, array.as_array()))
    };
    blocks.iter().zip(floats).map(fit).collect()
}

/// Put the floats of a row into its words, whose upper bits are zero.
pub fn take(taken: &[Taken<'_>], row: usize, words: &mut [Bytes32]) {
    for (first, floats) in taken {
        for (word, float) in words[*first..].iter_mut().zip(floats.row(row)) {
            word[24..].copy_from_slice(&float.to_bits().to_be_bytes());
        }
    }
}

/// An array that a program hands back.
pub enum Array<'py> {
    Floats(Bound<'py, PyArray2<f64>>),
    Singles(Bound<'py, PyArray2<f32>>),
}

impl<'py> Array<'py> {
    pub fn new(py: Python<'py>, rows: usize, block: &FloatBlock) -> Self {
        if block.single {
            Self::Singles(PyArray2::zeros(py, [rows, block.count], false))
        } else {
            Self::Floats(PyArray2::zeros(py, [rows, block.count], false))
        }
    }

    pub fn into_any(self) -> Bound<'py, PyAny> {
        match self {
            Self::Floats(array) => array.into_any(),
            Self::Singles(array) => array.into_any(),
        }
    }

    /// Pieces of `chunk` rows.
    ///
    /// # Safety
    /// Nothing else refers to the array while the pieces are used.
    pub unsafe fn pieces<'a>(&'a self, block: &FloatBlock, chunk: usize) -> PyResult<Vec<Piece<'a>>> {
        let (first, count) = (block.first, block.count);
        let size = (chunk * count).max(1);
        Ok(match self {
            Self::Floats(array) => {
                // SAFETY: the caller promises that nothing else refers to the array.
                let floats = unsafe { array.as_slice_mut() }?;
                floats.chunks_mut(size).map(|values| Piece { first, count, values: Values::Floats(values) }).collect()
            }
            Self::Singles(array) => {
                // SAFETY: as above.
                let singles = unsafe { array.as_slice_mut() }?;
                singles.chunks_mut(size).map(|values| Piece { first, count, values: Values::Singles(values) }).collect()
            }
        })
    }
}

/// Where some rows' floats of one array go.
pub struct Piece<'a> {
    first: usize,
    count: usize,
    values: Values<'a>,
}

enum Values<'a> {
    Floats(&'a mut [f64]),
    Singles(&'a mut [f32]),
}

impl Piece<'_> {
    /// Take the floats of a row, the number `row` of this piece, from its words.
    pub fn put(&mut self, row: usize, words: &[Bytes32]) {
        let words = &words[self.first..self.first + self.count];
        let float = |word: &Bytes32| f64::from_bits(u64::from_be_bytes(word.as_chunks::<8>().0[3]));
        let places = row * self.count..(row + 1) * self.count;
        match &mut self.values {
            Values::Floats(values) => values[places].iter_mut().zip(words).for_each(|(to, word)| *to = float(word)),
            Values::Singles(values) => {
                values[places].iter_mut().zip(words).for_each(|(to, word)| *to = float(word) as f32);
            }
        }
    }
}
