//! A program on one row: its words, and what each operation does with them.

use revm::{
    context::BlockEnv,
    primitives::{Address, B256, U256},
};

use super::{Operation, Program, template::SKIPPED, word::Source};
use crate::{
    machine::{Failure, Machine},
    rows::arithmetic::Function,
    specialise::Runner,
};

/// One row's words while it runs.
pub struct Words<'a> {
    pub inputs: &'a [u8],
    pub registers: &'a mut [U256],
}

impl Words<'_> {
    #[inline]
    pub fn get(&self, source: Source) -> U256 {
        match source {
            Source::Constant(value) => value,
            Source::Input(index) => U256::from_be_slice(&self.inputs[index * 32..index * 32 + 32]),
            Source::Register(index) => self.registers[index],
        }
    }

    /// The lowest 64 bits of a word.
    #[inline]
    fn bits(&self, source: Source) -> u64 {
        match source {
            Source::Constant(value) => value.as_limbs()[0],
            Source::Input(index) => u64::from_be_bytes(self.inputs.as_chunks::<8>().0[index * 4 + 3]),
            Source::Register(index) => self.registers[index].as_limbs()[0],
        }
    }

    pub fn address(&self, source: Source) -> Result<Address, Failure> {
        let word = self.get(source);
        if word >> 160 != U256::ZERO {
            return Err(Failure::Invalid(format!("{word:#x} is not an address")));
        }
        Ok(Address::from_word(B256::from(word)))
    }

    pub fn u64(&self, source: Source, what: &str) -> Result<u64, Failure> {
        let word = self.get(source);
        u64::try_from(word).map_err(|_| Failure::Invalid(format!("{what} {word} does not fit into 64 bits")))
    }
}

impl Program {
    /// Run on one row: `inputs` and `outputs` are its words, big-endian.
    pub fn run(
        &self,
        machine: &mut Machine,
        block: &mut BlockEnv,
        inputs: &[u8],
        registers: &mut Vec<U256>,
        outputs: &mut [u8],
        mut runner: Option<&mut Runner<'_>>,
    ) -> Result<(), Failure> {
        registers.clear();
        registers.resize(self.registers, U256::ZERO);
        let mut words = Words { inputs, registers };
        for operation in &self.operations {
            self.step(operation, machine, block, &mut words, runner.as_deref_mut())?;
        }
        for (place, (_, source)) in outputs.chunks_exact_mut(32).zip(&self.outputs) {
            place.copy_from_slice(&words.get(*source).to_be_bytes::<32>());
        }
        Ok(())
    }

    pub(super) fn step(
        &self,
        operation: &Operation,
        machine: &mut Machine,
        block: &mut BlockEnv,
        words: &mut Words<'_>,
        runner: Option<&mut Runner<'_>>,
    ) -> Result<(), Failure> {
        match operation {
            Operation::Call { templates, choice, mask, commit, first, words: wanted } => {
                if words.get(*mask).is_zero() {
                    words.registers[*first] = U256::from(SKIPPED);
                    return Ok(());
                }
                let choice = words.get(*choice);
                let template =
                    usize::try_from(choice).ok().and_then(|choice| templates.get(choice)).ok_or_else(|| {
                        Failure::Invalid(format!("choice {choice} is not one of {} templates", templates.len()))
                    })?;
                let answer = template.run(machine, block, words, *commit, runner)?;
                template.receive(machine, words, &answer, *first, *wanted)?;
            }
            Operation::Load { address, slot, into } => {
                let (address, slot) = (words.address(*address)?, words.get(*slot));
                words.registers[*into] = match runner {
                    Some(runner) => runner.load(machine, address, slot)?,
                    None => machine.read_slot(address, slot)?,
                };
            }
            Operation::Store { address, slot, value, mask } => {
                if !words.get(*mask).is_zero() {
                    let (address, slot, value) = (words.address(*address)?, words.get(*slot), words.get(*value));
                    match &runner {
                        Some(runner) => runner.all.store(machine, address, slot, value)?,
                        None => machine.write_slot(address, slot, value)?,
                    }
                }
            }
            Operation::Balance { address, into } => {
                words.registers[*into] = machine.read_info(words.address(*address)?)?.balance;
            }
            Operation::Advance { blocks, seconds, mask } => {
                if words.get(*mask).is_zero() {
                    return Ok(());
                }
                let blocks = words.u64(*blocks, "a number of blocks")?;
                let seconds = words.u64(*seconds, "a number of seconds")?;
                let overflow = || Failure::Invalid("the block number or time does not fit any more".into());
                block.number = block.number.checked_add(U256::from(blocks)).ok_or_else(overflow)?;
                block.timestamp = block.timestamp.checked_add(U256::from(seconds)).ok_or_else(overflow)?;
                machine.set_block(block);
            }
            Operation::Time { number, timestamp } => {
                words.registers[*number] = block.number;
                words.registers[*timestamp] = block.timestamp;
            }
            Operation::Compute { function: Function::Float(float), with, into } if float.of_floats() => {
                let (a, b) = (words.bits(with[0]), with.get(1).map_or(0, |word| words.bits(*word)));
                words.registers[*into] = U256::from(float.of_bits(a, b));
            }
            Operation::Compute { function, with, into } => {
                words.registers[*into] = match with[..] {
                    [a] => function.apply(&[words.get(a)]),
                    [a, b] => function.apply(&[words.get(a), words.get(b)]),
                    [a, b, c] => function.apply(&[words.get(a), words.get(b), words.get(c)]),
                    ref more => function.apply(&more.iter().map(|word| words.get(*word)).collect::<Vec<_>>()),
                };
            }
        }
        Ok(())
    }
}
