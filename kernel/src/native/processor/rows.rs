//! The rows of a batch: words of four limbs, lowest first, one row behind the other.

/// Inputs, outputs and flags of `count` rows. Strides are in limbs.
pub struct Rows<'a> {
    pub inputs: &'a [u64],
    pub outputs: &'a mut [u64],
    /// The number of a row's leaf, from 1, where all guards held; 0 and undefined outputs for the other rows.
    pub flags: &'a mut [u8],
    pub count: usize,
    pub input_stride: usize,
    pub output_stride: usize,
}

impl Rows<'_> {
    /// Panic unless every row lies inside the slices.
    pub fn check(&self, input_words: usize, output_words: usize) {
        let end = |stride: usize, words: usize| (self.count - 1).checked_mul(stride)?.checked_add(4 * words);
        let inside = |len: usize, stride: usize, words: usize| {
            self.count == 0 || words == 0 || end(stride, words).is_some_and(|end| end <= len)
        };
        assert!(inside(self.inputs.len(), self.input_stride, input_words), "rows behind the end of the inputs");
        assert!(inside(self.outputs.len(), self.output_stride, output_words), "rows behind the end of the outputs");
        assert!(self.count <= self.flags.len(), "more rows than flags");
    }
}
