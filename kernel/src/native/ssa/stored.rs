//! A function as lines that can be read back: recorded paths travel to where there is a device.

use std::fmt::Write;

use revm::primitives::{U256, hex};

use super::ir::{Condition, Function, Guard, Malformed, Node, Part};

/// Write a function, a line a node, guard and output.
pub fn write(function: &Function) -> String {
    let mut text = String::new();
    for node in &function.nodes {
        let _ = match node {
            Node::Input { word, bits } => writeln!(text, "input {word} {bits}"),
            Node::Constant(value) => writeln!(text, "constant {value:#x}"),
            Node::Pure(opcode, [a, b, c]) => writeln!(text, "pure {opcode} {a} {b} {c}"),
            Node::Select([condition, a, b]) => writeln!(text, "select {condition} {a} {b}"),
            Node::ProductAbove([a, b], limit) => writeln!(text, "product_above {a} {b} {limit:#x}"),
            Node::Keccak(parts) => {
                let parts = parts.iter().map(|part| match part {
                    Part::Bytes(bytes) => format!(" {}", hex::encode_prefixed(bytes)),
                    Part::Word { node, from, length } => format!(" {node}:{from}:{length}"),
                });
                writeln!(text, "keccak{}", parts.collect::<String>())
            }
        };
    }
    for Guard { node, condition } in &function.guards {
        let _ = match condition {
            Condition::Zero => writeln!(text, "guard {node} zero"),
            Condition::NonZero => writeln!(text, "guard {node} nonzero"),
            Condition::Equal(value) => writeln!(text, "guard {node} {value:#x}"),
        };
    }
    for node in &function.outputs {
        let _ = writeln!(text, "output {node}");
    }
    text
}

/// Read a function; what is wrong with it is named with its line.
pub fn read(text: &str) -> Result<Function, Malformed> {
    let mut function = Function::default();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let read = read_line(&words, &mut function);
        read.ok_or_else(|| Malformed(format!("line {}: '{line}' is no node, guard or output", number + 1)))?;
    }
    function.verify()?;
    Ok(function)
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn word(text: &str) -> Option<U256> {
    U256::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn read_line(words: &[&str], function: &mut Function) -> Option<()> {
    let node = match words {
        ["input", word, bits] => Node::Input { word: number(word)?, bits: number(bits)? },
        ["constant", value] => Node::Constant(word(value)?),
        ["pure", opcode, a, b, c] => Node::Pure(number(opcode)?, [number(a)?, number(b)?, number(c)?]),
        ["select", condition, a, b] => Node::Select([number(condition)?, number(a)?, number(b)?]),
        ["product_above", a, b, limit] => Node::ProductAbove([number(a)?, number(b)?], word(limit)?),
        ["keccak", parts @ ..] => Node::Keccak(parts.iter().map(|part| read_part(part)).collect::<Option<_>>()?),
        ["guard", node, condition] => {
            let condition = match *condition {
                "zero" => Condition::Zero,
                "nonzero" => Condition::NonZero,
                value => Condition::Equal(word(value)?),
            };
            function.guards.push(Guard { node: number(node)?, condition });
            return Some(());
        }
        ["output", node] => {
            function.outputs.push(number(node)?);
            return Some(());
        }
        _ => return None,
    };
    function.nodes.push(node);
    Some(())
}

fn read_part(text: &str) -> Option<Part> {
    match text.split(':').collect::<Vec<_>>().as_slice() {
        [node, from, length] => Some(Part::Word { node: number(node)?, from: number(from)?, length: number(length)? }),
        [bytes] => Some(Part::Bytes(hex::decode(bytes).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::samples::Samples;

    #[test]
    fn what_is_written_is_read_back() {
        for seed in 0..200 {
            let function = Samples::new(seed).function(5, 30);
            assert_eq!(read(&write(&function)), Ok(function), "seed {seed}");
        }
        assert_eq!(
            read("input 0\n").map_err(|error| error.0),
            Err("line 1: 'input 0' is no node, guard or output".into())
        );
    }
}
