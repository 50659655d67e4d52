//! The KECCAK256 instruction with a memory for hashes.
//!
//! A mapping's entry lies at the hash of its key and its slot, and a contract computes that again at every access. Rows of
//! a fleet hash the same few entries over and over, and a hash costs as much as dozens of other instructions.

use revm::{
    bytecode::opcode,
    context::Host,
    handler::{MainnetContext, instructions::EthInstructions},
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult, gas, instructions::system,
        interpreter::EthInterpreter,
    },
    primitives::{U256, keccak256},
};

use crate::storage::database::RowDatabase;

type Context = MainnetContext<RowDatabase>;

/// A key of a mapping and the mapping's slot.
const LENGTH: usize = 64;
/// The longest bytes whose hash is remembered: three words, or what the address of a contract is made of.
const LONGEST: usize = 96;
/// Powers of two: entries at first, and the most, for some of each account of a population; they take nine megabytes.
const ENTRIES: usize = 1 << 10;
const MOST_ENTRIES: usize = 1 << 16;

struct Entry {
    /// With zeros behind it.
    preimage: [u8; LONGEST],
    length: u8,
    hash: U256,
}

/// Hashes of a few words that were asked for lately. One machine has it, so no thread waits for another.
#[derive(Default)]
pub struct Hashes {
    /// Each preimage has one place. Empty until the first hash.
    entries: Vec<Option<Entry>>,
    /// How many had to make room since there are so many entries.
    replaced: usize,
}

impl Hashes {
    /// The hash of bytes, which may be known.
    pub fn of_bytes(&mut self, bytes: &[u8]) -> U256 {
        if bytes.len() > LONGEST {
            return keccak256(bytes).into();
        }
        if self.entries.is_empty() {
            self.entries.resize_with(ENTRIES, || None);
        }
        let mut preimage = [0; LONGEST];
        preimage[..bytes.len()].copy_from_slice(bytes);
        let length = bytes.len() as u8;
        let at = place(&preimage, self.entries.len());
        if let Some(known) = &self.entries[at] {
            if known.length == length && known.preimage == preimage {
                return known.hash;
            }
            self.replaced += 1;
        }
        let hash = keccak256(bytes).into();
        self.entries[at] = Some(Entry { preimage, length, hash });
        if self.replaced >= self.entries.len() && self.entries.len() < MOST_ENTRIES {
            self.grow();
        }
        hash
    }

    /// Make room for four times as many.
    #[cold]
    fn grow(&mut self) {
        let size = 4 * self.entries.len();
        let entries = std::mem::take(&mut self.entries);
        self.entries.resize_with(size, || None);
        self.replaced = 0;
        for entry in entries.into_iter().flatten() {
            let at = place(&entry.preimage, size);
            self.entries[at] = Some(entry);
        }
    }
}

/// Where a preimage belongs among so many: every bit of it counts, and neighbouring slots do not meet.
#[inline]
fn place(preimage: &[u8; LONGEST], entries: usize) -> usize {
    let (limbs, _) = preimage.as_chunks::<8>();
    let mixed = limbs.iter().fold(0u64, |mixed, limb| {
        (mixed.rotate_left(23) ^ u64::from_le_bytes(*limb)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> (u64::BITS - entries.ilog2())) as usize
}

/// KECCAK256: two words in memory that is there already are looked up, all else is revm's own instruction's.
fn remembered(context: InstructionContext<'_, Context, EthInterpreter>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let preimage: Option<[u8; LENGTH]> = match interpreter.stack.data()[..] {
        [.., length, offset] if length == U256::from(LENGTH) => usize::try_from(offset)
            .ok()
            .filter(|offset| offset.checked_add(LENGTH).is_some_and(|end| end <= interpreter.memory.len()))
            .and_then(|offset| interpreter.memory.slice_len(offset, LENGTH)[..].try_into().ok()),
        _ => None,
    };
    let Some(preimage) = preimage else {
        return system::keccak256(InstructionContext { interpreter, host });
    };
    if !interpreter.gas.record_regular_cost(host.gas_params().keccak256_cost(LENGTH)) {
        return Err(InstructionResult::OutOfGas);
    }
    let Some((_, top)) = interpreter.stack.popn_top::<1>() else { return Err(InstructionResult::StackUnderflow) };
    *top = host.journaled_state.database.hashes.of_bytes(&preimage);
    Ok(())
}

/// Let an interpreter remember hashes.
pub fn install(instructions: &mut EthInstructions<EthInterpreter, Context>) {
    instructions.insert_instruction(opcode::KECCAK256, Instruction::new(remembered), gas::KECCAK256 as u16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_right_however_many_there_are_and_however_long() {
        let mut hashes = Hashes::default();
        for round in 0..2 {
            for number in 0..3 * MOST_ENTRIES as u64 {
                let mut bytes = [0; LONGEST + 8];
                bytes[..8].copy_from_slice(&number.to_be_bytes());
                let bytes = &bytes[..(number + round) as usize % bytes.len()];
                assert_eq!(hashes.of_bytes(bytes), U256::from_be_bytes(keccak256(bytes).0));
            }
        }
        assert_eq!(hashes.entries.len(), MOST_ENTRIES);
    }
}
