//! A recorded path as a function of what differs between accounts and between scenarios.

use std::collections::BTreeSet;

use revm::{context::BlockEnv, primitives::U256};

use super::call::Call;
use crate::{
    native::ssa::ir::{Function, Node as Operation},
    specialise::Draft,
    trace::{BlockField, Ending, Expression, Graph, Guard, Node, Part, Text},
};

/// A path as a function.
pub struct Recorded {
    pub function: Function,
    pub leaves: Vec<Node>,
    /// Inputs that differ between scenarios, and the column that each is.
    pub scenario: Vec<(u32, usize)>,
    /// Conditions that an account decides alone; the function does not test them.
    pub deciding: Vec<(Guard, U256)>,
    /// All that its leaves and those conditions are made of, operands first.
    pub schedule: Vec<Node>,
}

/// A path as a function; none where it cannot be one of accounts and scenarios.
pub fn recorded(
    call: &Call,
    block: &BlockEnv,
    graph: &mut Graph,
    guards: &[(Guard, U256)],
    ending: &Ending,
) -> Option<Recorded> {
    let wanted = match call.returns {
        Some(count) => Some(output_words(graph, &ending.output, count)?),
        None => None,
    };
    let ending = match &wanted {
        Some(words) => Ending {
            output: Text {
                bytes: vec![0; 32 * words.len()],
                parts: words
                    .iter()
                    .zip(0..)
                    .map(|(node, at)| Part { node: *node, from: 0, length: 32, at: 32 * at })
                    .collect(),
            },
            gas: Default::default(),
            writes: Vec::new(),
            logs: Vec::new(),
            touched: Vec::new(),
            ..ending.clone()
        },
        None => ending.clone(),
    };
    let mut results = ending.output.parts.iter().map(|part| part.node).collect::<Vec<_>>();
    results.retain(|node| graph.as_constant(*node).is_none());
    results.sort_unstable();
    results.dedup();
    let (deciding, open): (Vec<_>, Vec<_>) =
        guards.iter().copied().partition(|(guard, _)| !depends(call, graph, guard.node));
    // What an account decides alone is checked when it is read, and nowhere else: mostly hashes for its slots.
    let kept = if wanted.is_some() { &open } else { guards };
    let (mut function, leaves) = Draft::new(graph, kept, &ending).into_parts();
    if let Some(words) = &wanted {
        let made: Vec<u32> = function.outputs.clone();
        let outputs = words.iter().map(|node| match (graph.as_constant(*node), results.binary_search(node)) {
            (Some(value), _) => {
                function.nodes.push(Operation::Constant(value));
                Some(function.nodes.len() as u32 - 1)
            }
            (None, found) => made.get(found.ok()?).copied(),
        });
        function.outputs = outputs.collect::<Option<Vec<u32>>>()?;
    }
    let mut scenario = Vec::new();
    for (word, leaf) in leaves.iter().enumerate() {
        match (call.column(graph.expression(*leaf)), graph.expression(*leaf)) {
            (Some(column), _) => scenario.push((word as u32, column)),
            (None, Expression::Block(field)) => {
                let value = match field {
                    BlockField::Timestamp => block.timestamp,
                    BlockField::Number => block.number,
                    BlockField::BaseFee => U256::from(block.basefee),
                };
                fix(&mut function, word as u32, value);
            }
            (None, Expression::Slot(..) | Expression::Account(..)) if depends(call, graph, *leaf) => return None,
            _ => {}
        }
    }
    let varies = |node: Node| depends(call, graph, node);
    let read = leaves.iter().copied().filter(|leaf| !varies(*leaf));
    let schedule = all_of(graph, read.chain(deciding.iter().map(|(guard, _)| guard.node)));
    Some(Recorded { function, leaves, scenario, deciding, schedule })
}

/// The first words of an output as expressions; none where it is shorter, or a piece reaches over a word's end.
fn output_words(graph: &mut Graph, output: &Text, count: usize) -> Option<Vec<Node>> {
    if output.bytes.len() < 32 * count {
        return None;
    }
    (0..count)
        .map(|word| {
            let (first, last) = (32 * word as u32, 32 * word as u32 + 32);
            let inside = |part: &&Part| part.at < last && part.at + u32::from(part.length) > first;
            let parts: Vec<Part> = output.parts.iter().filter(inside).copied().collect();
            let whole = parts.iter().all(|part| part.at >= first && part.at + u32::from(part.length) <= last);
            let parts = parts.into_iter().map(|part| Part { at: part.at.wrapping_sub(first), ..part }).collect();
            let bytes = output.bytes[first as usize..last as usize].to_vec();
            whole.then(|| graph.assembled(Text { bytes, parts }))
        })
        .collect()
}

/// An input becomes a constant.
fn fix(function: &mut Function, word: u32, value: U256) {
    for node in &mut function.nodes {
        if matches!(node, Operation::Input { word: read, .. } if *read == word) {
            *node = Operation::Constant(value);
        }
    }
}

/// All that some expressions are made of, operands first.
fn all_of(graph: &Graph, wanted: impl Iterator<Item = Node>) -> Vec<Node> {
    let (mut open, mut found) = (wanted.collect::<Vec<_>>(), BTreeSet::new());
    while let Some(node) = open.pop() {
        if found.insert(node) {
            graph.operands(node, |operand| open.push(operand));
        }
    }
    found.into_iter().collect()
}

/// Whether an expression is made of what scenarios change.
fn depends(call: &Call, graph: &Graph, node: Node) -> bool {
    all_of(graph, [node].into_iter()).into_iter().any(|node| call.column(graph.expression(node)).is_some())
}
