//! A template as a call site knows it, and what its calldata costs.

use std::{
    fmt,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use revm::{
    context_interface::cfg::{GasId, GasParams},
    primitives::{HashMap, HashSet, U256},
};

use crate::faults::Fault;
use crate::specialise::{self, Specialiser};
use crate::trace::{Bill, DataGas};

/// Shapes that are remembered; one that comes again after that is a new one.
const MOST_SHAPES: usize = 1 << 16;

/// A template as a call site knows it: calldata with zeros where it varies.
pub struct Shape {
    /// Differs between templates of which calldata, holes or gas differ.
    pub id: u64,
    pub data: Vec<u8>,
    pub holes: Vec<usize>,
    pub gas: u64,
}

/// Without its number, which other processes do not share.
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shape").field(&self.data).field(&self.holes).field(&self.gas).finish()
    }
}

/// Calldata, holes and gas of a template.
pub type Template = (Vec<u8>, Vec<usize>, u64);

static KNOWN: OnceLock<Mutex<HashMap<Template, u64>>> = OnceLock::new();

impl Shape {
    /// The templates with these numbers, as far as they are remembered.
    pub fn templates(ids: &HashSet<u64>) -> HashMap<u64, Template> {
        let known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(_, id)| ids.contains(*id)).map(|(template, id)| (*id, template.clone())).collect()
    }

    pub fn new(data: Vec<u8>, holes: Vec<usize>, gas: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SHAPES {
            known.clear();
        }
        let id = *known.entry((data.clone(), holes.clone(), gas)).or_insert_with(|| NEXT.fetch_add(1, Relaxed));
        Self { id, data, holes, gas }
    }
}

/// What a call pays for its calldata: for the constant bytes, and for each byte of its holes that is not zero.
pub struct Tariff {
    base: DataGas,
    byte: DataGas,
    limit: u64,
}

impl Tariff {
    pub fn new(shape: &Shape, params: &GasParams) -> Self {
        let base = params.initial_tx_gas(&shape.data, false, 0, 0, 0, None);
        let more = params.tx_token_non_zero_byte_multiplier() - 1;
        Self {
            base: DataGas { intrinsic: base.initial_regular_gas, floor: base.floor_gas },
            byte: DataGas { intrinsic: more * params.tx_token_cost(), floor: more * params.tx_floor_cost_per_token() },
            limit: shape.gas,
        }
    }

    /// `None` where the gas limit may not allow the calldata.
    pub fn of(&self, holes: &[U256]) -> Option<DataGas> {
        let bytes: u64 = holes.iter().map(nonzero_bytes).sum();
        let data = DataGas {
            intrinsic: self.base.intrinsic + bytes * self.byte.intrinsic,
            floor: self.base.floor + bytes * self.byte.floor,
        };
        (data.intrinsic.max(data.floor) <= self.limit).then_some(data)
    }
}

/// What a template's transactions pay for; none where the gas limit may not allow the calldata.
pub fn bill(shape: &Shape, all: &Specialiser) -> Option<Bill> {
    let tariff = Tariff::new(shape, &all.params);
    tariff.of(&vec![U256::MAX; shape.holes.len()])?;
    let mut params = all.params.clone();
    if all.fault == Some(specialise::Fault::ProgramGas) {
        let id = GasId::sstore_set_without_load_cost();
        params.override_gas([(id, params.get(id) + 1)]);
    }
    Some(Bill { base: tariff.base, byte: tariff.byte, params })
}

#[inline]
fn nonzero_bytes(word: &U256) -> u64 {
    let mask = if Fault::BytesMiscounted.is_on() { 0x7f } else { 0xff };
    word.as_le_slice().iter().map(|byte| u64::from(*byte & mask != 0)).sum()
}
