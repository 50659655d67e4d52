//! What each instruction does to the shadows: the recorder's side of the interpreter's table.

use std::ops::Range;

use revm::{
    bytecode::opcode as op,
    interpreter::{
        Interpreter,
        interpreter_types::{InputsTr, Jumps, MemoryTr},
    },
    primitives::U256,
};

use crate::faults::Fault;

use super::{
    arithmetic::operands,
    course::{Course, Step, Unmodelled},
    effects::Before,
    graph::{Field, MOST_NODES, ZERO},
    shadow::{ByteOrigin, Frame, Origin, whole_word},
};

/// More gas than one read of state can cost on one call and save on another: twice a cold account, amply.
const GAS_OF_STATE: u64 = 10_000;
/// More gas than `EXP` can cost on one call and save on another.
const GAS_OF_EXP: u64 = 3_200;

impl Course<'_> {
    /// A pure instruction: computed where an operand is.
    fn pure(&mut self, frame: &mut Frame, opcode: u8, count: usize, stack: &[U256]) -> Step {
        let mut origins = [Origin::Constant; 3];
        for (depth, origin) in origins.iter_mut().enumerate().take(count) {
            *origin = self.operand(frame, depth)?;
        }
        let result = if origins.iter().all(|origin| *origin == Origin::Constant) {
            Origin::Constant
        } else if origins[..2] == [Origin::Gas, Origin::Constant]
            && opcode == op::SUB
            && peek(stack, 0) >= peek(stack, 1)
        {
            // Less than all the gas there is: the way old code passes gas on.
            Origin::Gas
        } else {
            let mut nodes = [ZERO; 3];
            for depth in 0..count {
                nodes[depth] = self.node(origins[depth], peek(stack, depth))?;
            }
            if opcode == op::EXP && origins[1] != Origin::Constant {
                self.gas_varies += GAS_OF_EXP;
                if let Some(effects) = &mut self.effects {
                    effects.exponents.push(nodes[1]);
                    effects.seen.insert(nodes[1], peek(stack, 1));
                }
            }
            let node = self.graph.pure(opcode, nodes);
            self.origin(node)
        };
        frame.stack.truncate(frame.stack.len() - count);
        frame.stack.push(result);
        Ok(())
    }

    /// A word of 32 bytes with these origins comes onto the stack.
    fn push_bytes(&mut self, frame: &mut Frame, origins: [ByteOrigin; 32]) {
        match whole_word(&origins) {
            Some(origin) => frame.stack.push(origin),
            None => {
                self.late = Some(origins);
                frame.stack.push(Origin::Constant);
            }
        }
    }

    fn pop(&mut self, frame: &mut Frame, count: usize) -> Step {
        let left = frame.stack.len().checked_sub(count).ok_or(Unmodelled)?;
        frame.stack.truncate(left);
        Ok(())
    }

    /// Follow one instruction, which the interpreter is about to execute.
    pub fn follow(&mut self, frame: &mut Frame, interpreter: &Interpreter, before: &mut impl Before) -> Step {
        let stack = interpreter.stack.data();
        let opcode = interpreter.bytecode.opcode();
        if frame.stack.len() != stack.len() || self.graph.len() > MOST_NODES {
            return Err(Unmodelled);
        }
        if let Some(count) = operands(opcode) {
            return self.pure(frame, opcode, count, stack);
        }
        if self.effects.is_some() && self.follow_effect(frame, interpreter, before)? {
            return Ok(());
        }
        // The operand at a depth, with its value.
        macro_rules! at {
            ($depth:expr) => {
                (self.operand(frame, $depth)?, peek(stack, $depth))
            };
        }
        match opcode {
            op::PUSH0..=op::PUSH32
            | op::ADDRESS
            | op::ORIGIN
            | op::CALLER
            | op::CALLVALUE
            | op::CALLDATASIZE
            | op::CODESIZE
            | op::GASPRICE
            | op::RETURNDATASIZE
            | op::COINBASE..=op::BASEFEE
            | op::BLOBBASEFEE
            | op::PC
            | op::MSIZE => frame.stack.push(Origin::Constant),
            op::GAS => frame.stack.push(Origin::Gas),
            op::JUMPDEST | op::STOP => {}
            op::POP => self.pop(frame, 1)?,
            op::DUP1..=op::DUP16 => {
                let origin = self.operand(frame, usize::from(opcode - op::DUP1))?;
                frame.stack.push(origin);
            }
            op::SWAP1..=op::SWAP16 => {
                let top = frame.stack.len().checked_sub(1).ok_or(Unmodelled)?;
                let other = top.checked_sub(usize::from(opcode - op::SWAP1) + 1).ok_or(Unmodelled)?;
                frame.stack.swap(top, other);
            }
            op::JUMP => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
            }
            op::JUMPI => {
                let (condition, target) = (at!(1), at!(0));
                if let Some(join) = self.convert(frame, interpreter)? {
                    frame.join = Some(join);
                    return Ok(());
                }
                self.require_truth(condition.0, condition.1)?;
                if !condition.1.is_zero() {
                    self.require(target.0, target.1)?;
                }
                self.pop(frame, 2)?;
            }
            op::MLOAD => {
                let (origin, value) = at!(0);
                let place = self.place(origin, value)?;
                self.pop(frame, 1)?;
                self.push_bytes(frame, frame.memory.word(place));
            }
            op::MSTORE | op::MSTORE8 => {
                let ((origin, value), (word, _)) = (at!(0), at!(1));
                let place = self.place(origin, value)?;
                if word == Origin::Gas {
                    return Err(Unmodelled);
                }
                match opcode {
                    op::MSTORE => frame.memory.write_word(place, word),
                    _ => frame.memory.write_byte(place, word),
                }
                self.pop(frame, 2)?;
            }
            op::MCOPY => {
                let (to, from, length) = (at!(0), at!(1), at!(2));
                let to = self.range(to, length)?;
                let from = self.range(from, length)?;
                let copied = frame.memory.slice(from.start, from.len());
                frame.memory.copy(to.start, &copied, 0, to.len());
                self.pop(frame, 3)?;
            }
            op::CODECOPY | op::EXTCODECOPY => {
                let first = usize::from(opcode == op::EXTCODECOPY);
                if opcode == op::EXTCODECOPY {
                    let (origin, value) = at!(0);
                    self.require(origin, value)?;
                }
                let (to, from, length) = (at!(first), at!(first + 1), at!(first + 2));
                self.require(from.0, from.1)?;
                let to = self.range(to, length)?;
                frame.memory.clear(to);
                self.pop(frame, first + 3)?;
            }
            op::CALLDATACOPY | op::RETURNDATACOPY => {
                let (to, from, length) = (at!(0), at!(1), at!(2));
                self.require(from.0, from.1)?;
                let to = self.range(to, length)?;
                let source = if opcode == op::CALLDATACOPY { &frame.calldata } else { &frame.returned };
                // Far behind the end of calldata are zeros, which are the same in every call.
                let from = usize::try_from(from.1).unwrap_or(usize::MAX);
                frame.memory.copy(to.start, source, from, to.len());
                self.pop(frame, 3)?;
            }
            op::CALLDATALOAD => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
                let from = usize::try_from(value).unwrap_or(usize::MAX);
                self.push_bytes(frame, frame.calldata.word(from));
            }
            op::KECCAK256 => {
                let (at, length) = (at!(0), at!(1));
                let range = self.range(at, length)?;
                self.pop(frame, 2)?;
                let origins = frame.memory.slice(range.start, range.len());
                let bytes = memory(interpreter, range);
                for part in origins.text(&bytes, self).parts {
                    if part.length == 32 {
                        self.pin(part.node, U256::from_be_slice(&bytes[part.at as usize..][..32]))?;
                    }
                }
                let text = origins.text(&bytes, self);
                let origin =
                    if text.parts.is_empty() { Origin::Constant } else { Origin::Computed(self.graph.hash(text)) };
                frame.stack.push(origin);
            }
            op::SLOAD => {
                let (origin, value) = at!(0);
                let result = if origin == Origin::Constant {
                    Origin::Constant
                } else {
                    let key = self.node(origin, value)?;
                    self.gas_varies += GAS_OF_STATE;
                    Origin::Computed(self.graph.slot(interpreter.input.target_address(), key))
                };
                self.pop(frame, 1)?;
                frame.stack.push(result);
            }
            op::BALANCE | op::EXTCODESIZE | op::EXTCODEHASH => {
                let (origin, value) = at!(0);
                let result = if origin == Origin::Constant {
                    Origin::Constant
                } else {
                    let field = match opcode {
                        op::BALANCE => Field::Balance,
                        op::EXTCODESIZE => Field::CodeSize,
                        _ => Field::CodeHash,
                    };
                    let address = self.node(origin, value)?;
                    self.gas_varies += GAS_OF_STATE;
                    Origin::Computed(self.graph.account(field, address))
                };
                self.pop(frame, 1)?;
                frame.stack.push(result);
            }
            // Few values are ever asked for, and nothing on this path has written transient storage.
            op::BLOCKHASH | op::BLOBHASH | op::TLOAD => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
                frame.stack.push(Origin::Constant);
            }
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => self.call(frame, opcode, stack)?,
            op::RETURN | op::REVERT => {
                let (at, length) = (at!(0), at!(1));
                let range = self.range(at, length)?;
                frame.output = frame.memory.slice(range.start, range.len());
                self.pop(frame, 2)?;
            }
            _ => return Err(Unmodelled),
        }
        Ok(())
    }

    fn call(&mut self, frame: &mut Frame, opcode: u8, stack: &[U256]) -> Step {
        let (gas, to) = (self.operand(frame, 0)?, self.operand(frame, 1)?);
        if gas != Origin::Gas && !Fault::CallGasNotRequired.is_on() {
            self.require(gas, peek(stack, 0))?;
        }
        self.require(to, peek(stack, 1))?;
        let mut next = 2;
        if matches!(opcode, op::CALL | op::CALLCODE) {
            self.require(self.operand(frame, 2)?, peek(stack, 2))?;
            // Coins that move change what later reads see.
            if !peek(stack, 2).is_zero() {
                return Err(Unmodelled);
            }
            next = 3;
        }
        let mut words = [(Origin::Constant, U256::ZERO); 4];
        for (i, word) in words.iter_mut().enumerate() {
            *word = (self.operand(frame, next + i)?, peek(stack, next + i));
        }
        let given = self.range(words[0], words[1])?;
        let taken = self.range(words[2], words[3])?;
        frame.pending = Some((frame.memory.slice(given.start, given.len()), taken));
        self.pop(frame, next + 4)
    }
}

/// The word `depth` below the top; the caller has seen that it is there.
pub fn peek(stack: &[U256], depth: usize) -> U256 {
    stack.len().checked_sub(depth + 1).map_or(U256::ZERO, |at| stack[at])
}

/// Memory as it is now; what was never touched is zero.
pub fn memory(interpreter: &Interpreter, range: Range<usize>) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    let there = range.start.min(interpreter.memory.size())..range.end.min(interpreter.memory.size());
    bytes[..there.len()].copy_from_slice(&interpreter.memory.slice(there));
    bytes
}
