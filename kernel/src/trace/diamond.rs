//! If-conversion: where two short ways of pure instructions meet again, both are taken, and values are selected.
//!
//! Ladders such as a logarithm's or a tick's would have a path for every combination of their bits. Each rung is a
//! branch around a few instructions on the stack: recorded this way, all combinations are one path.
//!
//! Only one of the ways is executed while a path is recorded. The other one must be proven to end nowhere else: its
//! instructions are active under the hard fork, the stack neither underflows nor overflows, and every jump has a valid
//! destination. Pure instructions touch no memory, no state and no other contract, so nothing but gas is left that
//! could end a way; the gas in which both differ counts among what a path must have to spare.

use revm::{
    bytecode::opcode as op,
    interpreter::{
        Interpreter, STACK_LIMIT,
        instructions::gas_table_spec,
        interpreter_types::{Jumps, RuntimeFlag},
    },
    primitives::{U256, hardfork::SpecId},
};

use crate::faults::Fault;

use super::{
    arithmetic::operands,
    course::{Course, Unmodelled},
    graph::{Node, ZERO},
    instructions::peek,
    shadow::{Frame, Origin},
};

/// Instructions of one way.
const MOST_INSTRUCTIONS: usize = 64;
/// Values that two ways may differ in.
const MOST_SELECTS: usize = 6;

/// Gas that depends on which way was taken: the condition, and the gas where it holds and where it does not.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Choice {
    pub condition: Node,
    pub gas: [u64; 2],
}

/// Where two ways have met, and the stack there.
#[derive(Debug)]
pub struct Join {
    pub at: usize,
    pub stack: Vec<Origin>,
}

/// A word on a way: one that was there before, by its place, or a computed one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Kept(usize),
    Node(Node),
}

/// A moment of a way: a jump destination, the stack there, and the gas so far.
struct Moment {
    at: usize,
    stack: Vec<Item>,
    gas: u64,
}

impl Course<'_> {
    /// The branch that the interpreter is about to take, as a selection, if both ways meet soon and only compute.
    pub fn convert(&mut self, frame: &Frame, interpreter: &Interpreter) -> Result<Option<Join>, Unmodelled> {
        let stack = interpreter.stack.data();
        let (Origin::Constant, Origin::Computed(condition)) = (self.operand(frame, 0)?, self.operand(frame, 1)?) else {
            return Ok(None);
        };
        let Some(target) = usize::try_from(peek(stack, 0)).ok().filter(|target| is_destination(interpreter, *target))
        else {
            return Ok(None);
        };
        let height = stack.len() - 2;
        let begin = || (0..height).map(Item::Kept).collect::<Vec<_>>();
        let jumped = self.way(frame, interpreter, target, begin());
        if jumped.is_empty() {
            return Ok(None);
        }
        let passed = self.way(frame, interpreter, interpreter.bytecode.pc() + 1, begin());
        let meeting = passed.iter().find_map(|one| {
            let other = jumped.iter().find(|other| other.at == one.at)?;
            (one.stack.len() == other.stack.len()).then_some((one, other))
        });
        let Some((passed, jumped)) = meeting else { return Ok(None) };
        self.join(frame, stack, condition, passed, jumped)
    }

    fn join(
        &mut self,
        frame: &Frame,
        stack: &[U256],
        condition: Node,
        passed: &Moment,
        jumped: &Moment,
    ) -> Result<Option<Join>, Unmodelled> {
        let differing = passed.stack.iter().zip(&jumped.stack).filter(|(one, other)| one != other).count();
        if differing > MOST_SELECTS {
            return Ok(None);
        }
        let mut joined = Vec::with_capacity(passed.stack.len());
        for (one, other) in passed.stack.iter().zip(&jumped.stack) {
            joined.push(match (one, other) {
                (Item::Kept(one), Item::Kept(other)) if one == other => frame.stack[*one],
                (one, other) => {
                    let (Some(one), Some(other)) = (self.item(frame, stack, *one), self.item(frame, stack, *other))
                    else {
                        return Ok(None);
                    };
                    let node = self.graph.select(condition, other, one);
                    self.origin(node)
                }
            });
        }
        let gas = [jumped.gas, passed.gas];
        self.gas_varies += gas[0].abs_diff(gas[1]);
        if gas[0] != gas[1]
            && let Some(effects) = &mut self.effects
        {
            effects.choices.push(Choice { condition, gas });
            effects.seen.insert(condition, peek(stack, 1));
        }
        Ok(Some(Join { at: passed.at, stack: joined }))
    }

    /// The expression of a word; none for what is not computed.
    fn item(&mut self, frame: &Frame, stack: &[U256], item: Item) -> Option<Node> {
        match item {
            Item::Node(node) => Some(node),
            Item::Kept(at) => {
                let origin = self.operand(frame, frame.stack.len() - 1 - at).ok()?;
                self.node(origin, stack[at]).ok()
            }
        }
    }

    /// Follow pure instructions from `at` on, and note the jump destinations on the way.
    fn way(&mut self, frame: &Frame, interpreter: &Interpreter, mut at: usize, mut words: Vec<Item>) -> Vec<Moment> {
        let code = interpreter.bytecode.original_byte_slice();
        let stack = interpreter.stack.data();
        let spec = interpreter.runtime_flag.spec_id();
        let prices = gas_table_spec(spec);
        let (mut moments, mut gas) = (Vec::new(), 0);
        for _ in 0..MOST_INSTRUCTIONS {
            let Some(opcode) = code.get(at).copied().filter(|opcode| is_active(*opcode, spec)) else { break };
            if opcode == op::JUMPDEST {
                moments.push(Moment { at, stack: words.clone(), gas });
            }
            gas += u64::from(prices[usize::from(opcode)]);
            at += 1;
            match opcode {
                op::JUMPDEST => {}
                op::POP if words.pop().is_some() => {}
                op::PUSH0..=op::PUSH32 if has_room(&words) => {
                    let length = usize::from(opcode - op::PUSH0);
                    let Some(immediate) = code.get(at..at + length) else { break };
                    words.push(Item::Node(self.graph.constant(U256::from_be_slice(immediate))));
                    at += length;
                }
                op::DUP1..=op::DUP16 => match words.len().checked_sub(usize::from(opcode - op::DUP1) + 1) {
                    Some(from) if has_room(&words) => words.push(words[from]),
                    _ => break,
                },
                op::SWAP1..=op::SWAP16 => match words.len().checked_sub(usize::from(opcode - op::SWAP1) + 2) {
                    Some(other) => {
                        let top = words.len() - 1;
                        words.swap(top, other);
                    }
                    None => break,
                },
                op::JUMP => {
                    let target = words.pop().and_then(|word| self.item(frame, stack, word));
                    let target = target.and_then(|node| self.graph.as_constant(node)).map(usize::try_from);
                    match target {
                        Some(Ok(target)) if is_destination(interpreter, target) => at = target,
                        _ => break,
                    }
                }
                // What an exponent costs depends on it.
                op::EXP => break,
                _ => {
                    let Some(count) = operands(opcode).filter(|count| *count <= words.len()) else { break };
                    let mut nodes = [ZERO; 3];
                    for node in nodes.iter_mut().take(count) {
                        match words.pop().and_then(|word| self.item(frame, stack, word)) {
                            Some(known) => *node = known,
                            None => return moments,
                        }
                    }
                    words.push(Item::Node(self.graph.pure(opcode, nodes)));
                }
            }
        }
        moments
    }
}

/// Whether a word may be pushed.
fn has_room(words: &[Item]) -> bool {
    words.len() < STACK_LIMIT || Fault::StackLimit.is_on()
}

/// Whether the hard fork has an instruction. Those of a way that are not named have always been there.
fn is_active(opcode: u8, spec: SpecId) -> bool {
    Fault::InactiveOpcode.is_on()
        || spec.is_enabled_in(match opcode {
            op::SHL | op::SHR | op::SAR => SpecId::PETERSBURG,
            op::PUSH0 => SpecId::SHANGHAI,
            op::CLZ => SpecId::OSAKA,
            _ => SpecId::FRONTIER,
        })
}

fn is_destination(interpreter: &Interpreter, at: usize) -> bool {
    interpreter.bytecode.legacy_jump_table().is_some_and(|table| table.is_valid(at))
}
