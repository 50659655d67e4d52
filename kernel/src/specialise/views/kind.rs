//! What the calls of a batch have in common.

use revm::primitives::{Address, hardfork::SpecId};

use crate::{batch::Batch, trace::Layout};

/// Calls of one kind in a batch that are worth looking a site up for.
const FEWEST: usize = 2;

/// Calldata of one kind, from one sender, to one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub to: Address,
    pub sender: Address,
    pub gas: u64,
    pub spec: SpecId,
    pub calldata: Calldata,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Calldata {
    /// A selector, and so many words that all vary.
    Words([u8; 4], usize),
    /// Calldata with zeros where it varies, and where words do.
    Template(Vec<u8>, Vec<usize>),
}

impl Calldata {
    fn new(data: &[u8], holes: &[usize]) -> Self {
        if let Some(selector) = data.first_chunk::<4>()
            && data.len() == 4 + 32 * holes.len()
            && holes.iter().zip((4..).step_by(32)).all(|(at, word)| *at == word)
        {
            return Self::Words(*selector, holes.len());
        }
        let mut template = data.to_vec();
        holes.iter().for_each(|at| template[*at..at + 32].fill(0));
        Self::Template(template, holes.to_vec())
    }

    /// Calldata with zeros where it varies.
    pub fn template(&self) -> Vec<u8> {
        match self {
            Self::Words(selector, words) => [&selector[..], &vec![0; 32 * words]].concat(),
            Self::Template(template, _) => template.clone(),
        }
    }

    /// Where words vary.
    pub fn holes(&self) -> Vec<usize> {
        match self {
            Self::Words(_, words) => (0..*words).map(|word| 4 + 32 * word).collect(),
            Self::Template(_, holes) => holes.clone(),
        }
    }

    pub fn selector(&self) -> [u8; 4] {
        match self {
            Self::Words(selector, _) => *selector,
            Self::Template(template, _) => std::array::from_fn(|at| template.get(at).copied().unwrap_or(0)),
        }
    }
}

impl Key {
    /// None where the calls have not enough in common.
    pub fn of(spec: SpecId, batch: &Batch<'_>) -> Option<Self> {
        let first = *batch.datas.first()?;
        let calldata = match batch.holes {
            Some(holes) => Calldata::new(first, holes),
            None if batch.datas.len() < FEWEST => return None,
            None => {
                let layouts = Layout::of(batch.datas);
                let layout = layouts.get(&first.len()).filter(|_| layouts.len() == 1)?;
                let whole = layout.differing.iter().all(|word| word.length == 32);
                Calldata::new(first, &whole.then(|| layout.differing.iter().map(|word| word.at).collect::<Vec<_>>())?)
            }
        };
        let Batch { to, sender, gas, .. } = *batch;
        Some(Self { to, sender, gas, spec, calldata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calldata_of_words_is_told_from_other_calldata() {
        let data: Vec<u8> = (0..68).collect();
        let words = Calldata::new(&data, &[4, 36]);
        assert_eq!(words, Calldata::Words([0, 1, 2, 3], 2));
        let one = Calldata::new(&data, &[36]);
        assert!(matches!(&one, Calldata::Template(template, _) if template[..36] == data[..36]));
        for (calldata, holes) in [(words, vec![4, 36]), (one, vec![36])] {
            assert_eq!((calldata.template().len(), calldata.holes()), (68, holes));
            assert_eq!(calldata.template()[36..], [0; 32]);
            assert_eq!(calldata.selector(), [0, 1, 2, 3]);
        }
    }
}
