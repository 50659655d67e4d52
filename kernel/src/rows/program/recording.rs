//! A program run on one row under a recorder: what each operation does, and what its words are made of.

use revm::{
    context::BlockEnv,
    primitives::{B256, HashSet, U256, keccak256},
};

use super::{Operation, Program, running::Words, template::Template, word::Source};
use crate::{
    machine::{Failure, Machine},
    specialise::{Answer, Runner, bill, touched},
    trace::{KnownWord, Node, ProgramRecorder, UNWRITTEN, Unmodelled},
};

/// Why a step could not be recorded: it failed, or it is not modelled.
enum Stop {
    Failed(Failure),
    Unmodelled,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Unmodelled> for Stop {
    fn from(_: Unmodelled) -> Self {
        Self::Unmodelled
    }
}

/// The words of a row with what they are made of.
struct Followed<'w, 'r, 'g> {
    words: Words<'w>,
    nodes: Vec<Node>,
    /// Registers that something reads.
    read: HashSet<usize>,
    recorder: &'r mut ProgramRecorder<'g>,
}

impl Followed<'_, '_, '_> {
    fn get(&mut self, source: Source) -> KnownWord {
        let value = self.words.get(source);
        let node = match source {
            Source::Constant(value) => return self.recorder.constant(value),
            Source::Input(index) => self.recorder.input(index),
            Source::Register(index) => self.nodes[index],
        };
        self.recorder.word(node, value)
    }

    /// A word that is the same on the whole path.
    fn fixed(&mut self, source: Source) -> Result<U256, Unmodelled> {
        let word = self.get(source);
        self.recorder.require(word)?;
        Ok(word.1)
    }

    /// Whether a word is zero, which is the same on the whole path.
    fn is_zero(&mut self, source: Source) -> Result<bool, Unmodelled> {
        let word = self.get(source);
        self.recorder.require_truth(word)?;
        Ok(word.1.is_zero())
    }
}

impl Program {
    /// Equal for the same program in every process.
    pub fn fingerprint(&self) -> B256 {
        keccak256(format!("{:?}", (&self.inputs, &self.operations, &self.outputs)))
    }

    /// Differs between programs, and between a program and the same with more operations.
    pub fn key(&self) -> (u64, usize, usize) {
        (self.id, self.operations.len(), self.outputs.len())
    }

    /// Why it is never recorded as a whole, if so.
    pub fn obstacle(&self) -> Option<&'static str> {
        if !self.whole {
            return Some("its calls are replayed one by one");
        }
        let sends = |operation: &Operation| matches!(operation, Operation::Call { .. });
        let is_short = !self.operations.iter().any(sends) && self.float_outputs().is_empty();
        is_short.then_some("it makes no call")
    }

    /// Registers that an operation or an output reads.
    fn read_registers(&self) -> HashSet<usize> {
        let outputs = self.outputs.iter().map(|(_, source)| *source);
        let sources = self.operations.iter().flat_map(Operation::sources).chain(outputs);
        let register = |source| match source {
            Source::Register(index) => Some(index),
            _ => None,
        };
        sources.filter_map(register).collect()
    }

    /// Run on one row under a recorder. False if its path is not modelled; the row has run all the same.
    #[allow(clippy::too_many_arguments)]
    pub fn record(
        &self,
        machine: &mut Machine,
        block: &mut BlockEnv,
        inputs: &[u8],
        registers: &mut Vec<U256>,
        outputs: &mut [u8],
        runner: &mut Runner<'_>,
        recorder: &mut ProgramRecorder<'_>,
    ) -> Result<Option<Vec<KnownWord>>, Failure> {
        registers.clear();
        registers.resize(self.registers, U256::ZERO);
        let nodes = vec![UNWRITTEN; self.registers];
        let mut followed =
            Followed { words: Words { inputs, registers }, nodes, read: self.read_registers(), recorder };
        let mut modelled = true;
        for operation in &self.operations {
            if modelled {
                match follow(operation, machine, block, &mut followed, runner) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(Stop::Unmodelled) => modelled = false,
                    Err(Stop::Failed(failure)) => return Err(failure),
                }
                if !modelled && matches!(operation, Operation::Call { .. }) && followed.recorder.has_run() {
                    continue;
                }
            }
            self.step(operation, machine, block, &mut followed.words, Some(&mut *runner))?;
        }
        for (place, (_, source)) in outputs.chunks_exact_mut(32).zip(&self.outputs) {
            place.copy_from_slice(&followed.words.get(*source).to_be_bytes::<32>());
        }
        Ok(modelled.then(|| self.outputs.iter().map(|(_, source)| followed.get(*source)).collect()))
    }
}

/// Follow an operation: true if it has been carried out too.
fn follow(
    operation: &Operation,
    machine: &mut Machine,
    block: &BlockEnv,
    row: &mut Followed<'_, '_, '_>,
    runner: &mut Runner<'_>,
) -> Result<bool, Stop> {
    row.recorder.at_rest();
    match operation {
        Operation::Call { templates, choice, mask, commit, first, words } => {
            if row.is_zero(*mask)? {
                return Ok(false);
            }
            let choice = row.fixed(*choice)?;
            // A choice of none of them is an error, which is the step's to say.
            let Some(template) = usize::try_from(choice).ok().and_then(|choice| templates.get(choice)) else {
                return Ok(false);
            };
            call(template, machine, row, runner, *commit, *first, *words)?;
            return Ok(true);
        }
        Operation::Load { address, slot, into } => {
            let (account, key) = (row.words.address(*address)?, row.get(*slot));
            row.fixed(*address)?;
            row.nodes[*into] = row.recorder.load(account, key, machine.database())?;
        }
        Operation::Store { address, slot, value, mask } => {
            if !row.is_zero(*mask)? {
                let (account, key, value) = (row.words.address(*address)?, row.get(*slot), row.get(*value));
                row.fixed(*address)?;
                row.recorder.store(account, key, value.0, machine.database())?;
            }
        }
        Operation::Balance { address, into } => {
            let address = row.fixed(*address)?;
            row.nodes[*into] = row.recorder.balance(address);
        }
        Operation::Advance { blocks, seconds, mask } => {
            if !row.is_zero(*mask)? {
                let by = [row.get(*blocks), row.get(*seconds)];
                row.recorder.advance(by, [block.number, block.timestamp])?;
            }
        }
        Operation::Time { number, timestamp } => {
            [row.nodes[*number], row.nodes[*timestamp]] = row.recorder.time();
        }
        Operation::Compute { function, with, into } => {
            let words: Vec<KnownWord> = with.iter().map(|source| row.get(*source)).collect();
            row.nodes[*into] = row.recorder.express(*function, &words)?;
        }
    }
    Ok(false)
}

/// Interpret a transaction under the recorder.
fn call(
    template: &Template,
    machine: &mut Machine,
    row: &mut Followed<'_, '_, '_>,
    runner: &mut Runner<'_>,
    commit: bool,
    first: usize,
    wanted: usize,
) -> Result<(), Stop> {
    let sender = row.words.address(template.sender)?;
    row.words.address(template.to)?;
    for source in [template.to, template.sender] {
        row.fixed(source)?;
    }
    if !row.fixed(template.value)?.is_zero() {
        return Err(Stop::Unmodelled);
    }
    let bill = bill(&template.shape, runner.all).ok_or(Unmodelled)?;
    let open = template.holes.iter().filter(|(_, source)| source.constant().is_none());
    let (places, words): (Vec<usize>, Vec<KnownWord>) = open.map(|(at, source)| (*at, row.get(*source))).unzip();
    let holes = places.into_iter().zip(words.iter().map(|(node, _)| *node)).collect();
    let tx = template.transaction(&row.words)?;
    let (result, state) = machine.record_transaction(tx, row.recorder.begin(holes))?;
    let gas = row.read.contains(&(first + 1)).then(|| row.recorder.gas_used(&result, &bill, &words)).transpose();
    let ended = row.recorder.ended(&result, sender, touched(&state, sender), commit, wanted);
    if commit {
        runner.all.commit(machine, state);
    }
    template.receive(machine, &mut row.words, &Answer::Interpreted(result), first, wanted)?;
    let words = ended?;
    row.nodes[first + 1] = gas?.unwrap_or(UNWRITTEN);
    row.nodes[first] = row.recorder.constant(row.words.registers[first]).0;
    row.nodes[first + 2..first + 2 + words.len()].copy_from_slice(&words);
    Ok(())
}

impl Operation {
    /// Every word that it reads.
    fn sources(&self) -> Vec<Source> {
        match self {
            Self::Call { templates, choice, mask, .. } => {
                let holes = templates.iter().flat_map(|template| template.holes.iter().map(|(_, source)| *source));
                let ends = templates.iter().flat_map(|template| [template.to, template.sender, template.value]);
                holes.chain(ends).chain([*choice, *mask]).collect()
            }
            Self::Load { address, slot, .. } => vec![*address, *slot],
            Self::Store { address, slot, value, mask } => vec![*address, *slot, *value, *mask],
            Self::Balance { address, .. } => vec![*address],
            Self::Advance { blocks, seconds, mask } => vec![*blocks, *seconds, *mask],
            Self::Time { .. } => Vec::new(),
            Self::Compute { with, .. } => with.clone(),
        }
    }
}
