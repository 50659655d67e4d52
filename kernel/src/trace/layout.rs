//! Where the calldata of a batch differs from call to call.

use revm::primitives::HashMap;

/// A word of calldata: the last one may be short, and before the first one there may be a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub at: usize,
    pub length: usize,
}

impl Word {
    fn of<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        &data[self.at..self.at + self.length]
    }
}

/// What calls with equally long calldata have in common.
pub struct Layout {
    /// The words that differ between calls.
    pub differing: Vec<Word>,
    pub length: usize,
    pub calls: usize,
}

impl Layout {
    /// The layouts of a batch, by length of calldata.
    pub fn of(datas: &[&[u8]]) -> HashMap<usize, Self> {
        let mut groups: HashMap<usize, Vec<&[u8]>> = HashMap::default();
        for data in datas {
            groups.entry(data.len()).or_default().push(data);
        }
        groups.into_iter().map(|(length, datas)| (length, Self::of_equally_long(length, &datas))).collect()
    }

    fn of_equally_long(length: usize, datas: &[&[u8]]) -> Self {
        let differs = |word: &Word| datas.iter().any(|data| word.of(data) != word.of(datas[0]));
        Self { differing: words(length).filter(differs).collect(), length, calls: datas.len() }
    }
}

fn words(length: usize) -> impl Iterator<Item = Word> {
    let selector = if length % 32 == 4 { 4 } else { 0 };
    let first = (selector > 0).then_some(Word { at: 0, length: selector });
    let others = (selector..length).step_by(32).map(move |at| Word { at, length: (length - at).min(32) });
    first.into_iter().chain(others)
}
