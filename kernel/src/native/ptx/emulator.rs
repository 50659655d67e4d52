//! Runs PTX on the processor, thread by thread: what a device would compute, where there is none.

use std::collections::HashMap;

use super::floats;
use super::parser::{Carry, Comparison, Function, Line, Module, Operand, Operation, Special, Wrong, parse};
use super::work::{Counter, LANES, Work};

/// Bytes between the starts of two pieces of memory.
const APART: u64 = 1 << 40;
/// More lines than this and a thread does not end.
const MOST_LINES: u64 = 1 << 36;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    Place(u64),
    Number(u32),
}

/// Memory of a device that does not exist.
#[derive(Default)]
pub struct Emulator {
    memory: Vec<Vec<u8>>,
    /// Memory of others: where it is, and how many bytes.
    lent: Vec<(u64, usize)>,
    modules: HashMap<String, Module>,
    /// Counts, if anyone asked for that.
    counter: Option<Box<Counter>>,
}

/// One thread on its way through a function.
struct Thread<'a> {
    module: &'a Module,
    memory: &'a mut [Vec<u8>],
    lent: &'a [(u64, usize)],
    /// Thread, block, size of a block.
    special: [u64; 3],
    left: u64,
    counter: Option<&'a mut Counter>,
}

type Named = HashMap<String, Vec<u64>>;

impl Emulator {
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        self.memory.push(vec![0; bytes]);
        self.memory.len() as u64 * APART
    }

    /// Use memory of the process at its own place, instead of all that was lent before.
    ///
    /// # Safety
    /// Every piece is memory of this process, and nothing else reads or writes it until it is taken back.
    pub unsafe fn lend(&mut self, pieces: &[(u64, usize)]) {
        self.lent = pieces.to_vec();
    }

    /// Use no memory of the process any more.
    pub fn take_back(&mut self) {
        self.lent.clear();
    }

    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        self.memory[(at / APART) as usize - 1][(at % APART) as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub fn read(&self, at: u64, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.memory[(at / APART) as usize - 1][(at % APART) as usize..][..bytes.len()]);
    }

    /// Count what kernels do from now on. Returns what they did since the last call.
    pub fn count(&mut self) -> Work {
        self.counter.replace(Box::default()).map_or_else(Work::default, |counter| counter.work)
    }

    /// Read a text, unless it has been.
    pub fn compile(&mut self, text: &str) -> Result<(), Wrong> {
        if !self.modules.contains_key(text) {
            self.modules.insert(text.to_owned(), parse(text)?);
        }
        Ok(())
    }

    /// Run a kernel with so many threads, in blocks of `size`.
    pub fn launch(
        &mut self,
        text: &str,
        kernel: &str,
        threads: u64,
        size: u64,
        given: &[Argument],
    ) -> Result<(), Wrong> {
        self.compile(text)?;
        let module = &self.modules[text];
        let function = module.functions.get(kernel).ok_or_else(|| format!("no kernel {kernel}"))?;
        let values = given.iter().map(|argument| match argument {
            Argument::Place(place) => vec![*place],
            Argument::Number(number) => vec![u64::from(*number)],
        });
        let parameters: Named = function.parameters.iter().cloned().zip(values).collect();
        if let Some(counter) = &mut self.counter {
            counter.enter(module);
        }
        for thread in 0..threads.next_multiple_of(size) {
            let special = [thread % size, thread / size, size];
            let (memory, lent, counter) = (&mut self.memory, &self.lent, self.counter.as_deref_mut());
            let mut running = Thread { module, memory, lent, special, left: MOST_LINES, counter };
            running.run(function, parameters.clone())?;
            if let Some(counter) = &mut self.counter {
                counter.leave((thread + 1).is_multiple_of(LANES));
            }
        }
        Ok(())
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

impl Thread<'_> {
    fn value(&self, operand: &Operand, registers: &[u64]) -> Result<u64, Wrong> {
        Ok(match operand {
            Operand::Register(number) => registers[*number],
            Operand::Known(value) => *value,
            Operand::Pair([low, high]) => registers[*low] | registers[*high] << 32,
            Operand::Special(Special::Thread) => self.special[0],
            Operand::Special(Special::Block) => self.special[1],
            Operand::Special(Special::Size) => self.special[2],
            Operand::Named(..) | Operand::Memory(_) => return Err(format!("{operand:?} is not a value")),
        })
    }

    fn bytes(&mut self, at: u64, bits: u32) -> Result<&mut [u8], Wrong> {
        let size = bits as usize / 8;
        let holds = |(start, length): &&(u64, usize)| at >= *start && at - *start + size as u64 <= *length as u64;
        if self.lent.iter().any(|piece| holds(&piece)) {
            // SAFETY: inside a piece that was lent: memory of this process that nothing else uses now. The bytes are
            // borrowed from this thread's own state, so there is one such slice at a time.
            return Ok(unsafe {
                std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(at as usize), size)
            });
        }
        let (piece, from) = ((at / APART) as usize, (at % APART) as usize);
        let memory = piece.checked_sub(1).and_then(|piece| self.memory.get_mut(piece));
        let found = memory.and_then(|memory| memory.get_mut(from..from + bits as usize / 8));
        found.ok_or_else(|| format!("nothing is at {at:#x}"))
    }

    /// Run a function to its end; returns its results.
    fn run(&mut self, function: &Function, mut named: Named) -> Result<Named, Wrong> {
        let mut registers = vec![0; function.registers];
        let (mut at, mut carried) = (0, false);
        let first = self.counter.as_ref().map_or(0, |counter| counter.first(function));
        loop {
            self.left = self.left.checked_sub(1).ok_or("a thread does not end")?;
            let line = function.lines.get(at).ok_or("a function without an end")?;
            let runs = line.guard.is_none_or(|guard| registers[guard] != 0);
            if let Some(counter) = &mut self.counter {
                counter.count(first + at, line);
            }
            at += 1;
            if !runs {
                continue;
            }
            match line.operation {
                Operation::Return => return Ok(named),
                Operation::Branch => {
                    at = *function.labels.get(&line.target).ok_or_else(|| format!("no label {}", line.target))?;
                }
                Operation::Call => self.call(line, &mut named)?,
                Operation::Load | Operation::Store | Operation::AtomicAdd => {
                    self.remember(line, &mut registers, &mut named)?;
                }
                _ => self.compute(line, &mut registers, &mut carried)?,
            }
        }
    }

    fn call(&mut self, line: &Line, named: &mut Named) -> Result<(), Wrong> {
        let module = self.module;
        let function = module.functions.get(&line.target).ok_or_else(|| format!("no function {}", line.target))?;
        let [Operand::Named(result, _), Operand::Named(given, _)] = line.operands.as_slice() else {
            return Err("a call without names".into());
        };
        let given = named.get(given).cloned().unwrap_or_default();
        let inside = function.parameters.iter().cloned().zip([given]).collect();
        let mut found = self.run(function, inside)?;
        named.insert(result.clone(), found.remove(&function.results[0]).unwrap_or_default());
        Ok(())
    }

    /// Loads, stores, and what is both.
    fn remember(&mut self, line: &Line, registers: &mut [u64], named: &mut Named) -> Result<(), Wrong> {
        let bits = line.bits;
        let place = line.operands.iter().find_map(|operand| match operand {
            Operand::Memory(register) => Some(registers[*register]),
            _ => None,
        });
        let counted = self.counter.is_some() && place.is_some_and(|place| self.constant(place).is_none());
        if let (true, Some(counter)) = (counted, &mut self.counter) {
            counter.moved(line.operation, bits as usize / 8);
        }
        match (line.operation, line.operands.as_slice()) {
            (Operation::Load, [Operand::Register(into), Operand::Named(name, from)]) => {
                let found = named.get(name).and_then(|words| words.get(*from as usize / 8));
                registers[*into] = *found.ok_or_else(|| format!("{name}+{from} was never written"))?;
            }
            (Operation::Load, [Operand::Register(into), Operand::Memory(from)]) => {
                registers[*into] = match self.constant(registers[*from]) {
                    Some(value) => value,
                    None => word(self.bytes(registers[*from], bits)?),
                };
            }
            (Operation::Store, [Operand::Named(name, from), value]) => {
                let (value, at) = (self.value(value, registers)?, *from as usize / 8);
                let words = named.entry(name.clone()).or_default();
                words.resize(words.len().max(at + 1), 0);
                words[at] = value;
            }
            (Operation::Store, [Operand::Memory(into), value]) => {
                let value = self.value(value, registers)?;
                let bytes = self.bytes(registers[*into], bits)?;
                bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
            }
            (Operation::AtomicAdd, [Operand::Register(into), Operand::Memory(at), more]) => {
                let (more, bytes) = (self.value(more, registers)?, self.bytes(registers[*at], bits)?);
                let before = word(bytes);
                bytes.copy_from_slice(&before.wrapping_add(more).to_le_bytes()[..bytes.len()]);
                registers[*into] = before;
            }
            _ => return Err(format!("{line:?}")),
        }
        Ok(())
    }

    /// A constant of the module: they lie below all memory, that of the process too.
    fn constant(&self, at: u64) -> Option<u64> {
        self.module.constants.values().next().and_then(|values| values.get(at as usize / 8)).copied()
    }

    fn compute(&mut self, line: &Line, registers: &mut [u64], carried: &mut bool) -> Result<(), Wrong> {
        let [into, given @ ..] = line.operands.as_slice() else { return Err(format!("{line:?}")) };
        if let (Operation::Move, [Operand::Named(..)], Operand::Register(into)) = (line.operation, given, into) {
            registers[*into] = 0;
            return Ok(());
        }
        let mut values = [0; 3];
        for (value, operand) in values.iter_mut().zip(given) {
            *value = self.value(operand, registers)?;
        }
        let result = computed(line, values, carried);
        match into {
            Operand::Register(into) => registers[*into] = result,
            Operand::Pair([low, high]) => (registers[*low], registers[*high]) = (result & mask(32), result >> 32),
            _ => return Err(format!("{line:?} has no place for its result")),
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A sum with its carry.
fn summed(line: &Line, a: u64, b: u64, carry: Carry, carried: &mut bool) -> u64 {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry.into && *carried);
    if carry.out {
        *carried = sum >> line.bits != 0;
    }
    sum as u64 & mask(line.bits)
}

fn computed(line: &Line, values: [u64; 3], carried: &mut bool) -> u64 {
    let bits = line.bits;
    let [a, b, c] = values.map(|value| value & mask(bits));
    let product = |high: bool| {
        let product = u128::from(a) * u128::from(b);
        (if high { product >> bits } else { product }) as u64 & mask(bits)
    };
    let result = match line.operation {
        Operation::Move => values[0],
        Operation::Add(carry) => summed(line, a, b, carry, carried),
        Operation::Subtract(carry) => {
            let (rest, first) = a.overflowing_sub(b);
            let (rest, second) = rest.overflowing_sub(u64::from(carry.into && *carried));
            if carry.out {
                *carried = first || second;
            }
            rest
        }
        Operation::Multiply { wide: true, .. } => return (values[0] & mask(32)) * (values[1] & mask(32)),
        Operation::MultiplyAdd { wide: true, .. } => {
            return ((values[0] & mask(32)) * (values[1] & mask(32))).wrapping_add(values[2]);
        }
        Operation::Multiply { high, .. } => product(high),
        Operation::MultiplyAdd { high, carry, .. } => summed(line, product(high), c, carry, carried),
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::Not => !a,
        // Counts beyond the width are as good as the width.
        Operation::ShiftLeft => a.checked_shl(values[1] as u32).filter(|_| values[1] < u64::from(bits)).unwrap_or(0),
        Operation::ShiftRight { signed: true } => (a.cast_signed() >> values[1].min(63)).cast_unsigned(),
        Operation::ShiftRight { .. } => {
            a.checked_shr(values[1] as u32).filter(|_| values[1] < u64::from(bits)).unwrap_or(0)
        }
        Operation::FunnelRight => (b << 32 | a) >> c.min(32),
        Operation::FunnelLeft => (b << 32 | a) << (c & 31) >> 32,
        Operation::Permute => {
            let bytes = (b << 32 | a).to_le_bytes();
            (0..4).fold(0, |word, at| word | u64::from(bytes[(c >> (4 * at) & 7) as usize]) << (8 * at))
        }
        Operation::LeadingZeros => u64::from(a.leading_zeros()) - u64::from(64 - bits),
        Operation::Divide => a.checked_div(b).unwrap_or(mask(bits)),
        Operation::Remainder => a.checked_rem(b).unwrap_or(a),
        Operation::Test(comparison) => u64::from(match comparison {
            Comparison::Equal => a == b,
            Comparison::Different => a != b,
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterOrEqual => a >= b,
        }),
        Operation::Select => {
            if values[2] == 0 {
                b
            } else {
                a
            }
        }
        Operation::Float(line) => return floats::computed(line, values[0], values[1]),
        _ => 0,
    };
    result & mask(bits)
}
