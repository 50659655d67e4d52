//! A function as text: a line a node, then guards and outputs.

use std::fmt::Write;

use revm::primitives::U256;

use super::{
    ir::{Condition, Function, Node, Part},
    plan::Plan,
    range::limbs,
};
use crate::trace::arithmetic::{name, takes};

/// A constant, short where it is small.
fn number(value: U256) -> String {
    if value.bit_len() <= 40 { value.to_string() } else { format!("{value:#x}") }
}

fn node_text(node: &Node) -> String {
    match node {
        Node::Input { word, bits: 256 } => format!("input {word}"),
        Node::Input { word, bits } => format!("input {word} of {bits} bits"),
        Node::Constant(value) => number(*value),
        Node::Pure(opcode, arguments) => {
            let arguments = arguments.iter().take(takes(*opcode).unwrap_or(3)).map(|node| format!(" %{node}"));
            format!("{}{}", name(*opcode), arguments.collect::<String>())
        }
        Node::Keccak(parts) => {
            let parts = parts.iter().map(|part| match part {
                Part::Bytes(bytes) => format!(" {}", revm::primitives::hex::encode_prefixed(bytes)),
                Part::Word { node, from: 0, length: 32 } => format!(" %{node}"),
                Part::Word { node, from, length } => format!(" %{node}[{from}..{}]", from + length),
            });
            format!("KECCAK256{}", parts.collect::<String>())
        }
        Node::Select([condition, then, otherwise]) => format!("SELECT %{condition} %{then} %{otherwise}"),
        Node::ProductAbove([a, b], limit) => format!("PRODUCT %{a} %{b} > {}", number(*limit)),
    }
}

fn condition_text(condition: Condition) -> String {
    match condition {
        Condition::Zero => "= 0".to_owned(),
        Condition::NonZero => "!= 0".to_owned(),
        Condition::Equal(value) => format!("= {}", number(value)),
    }
}

fn ends(text: &mut String, function: &Function) {
    for guard in &function.guards {
        let _ = writeln!(text, "guard %{} {}", guard.node, condition_text(guard.condition));
    }
    for (at, node) in function.outputs.iter().enumerate() {
        let _ = writeln!(text, "output {at} = %{node}");
    }
}

/// A function as it was recorded.
pub fn function_text(function: &Function) -> String {
    let mut text = String::new();
    for (at, node) in function.nodes.iter().enumerate() {
        let _ = writeln!(text, "%{at} = {}", node_text(node));
    }
    ends(&mut text, function);
    text
}

/// What is left of it, with the size of every value; the cases of a split are indented.
pub fn plan_text(plan: &Plan) -> String {
    let mut text = String::new();
    for (at, node) in plan.function.nodes.iter().enumerate().skip(plan.shared) {
        let bits = plan.highs[at].bit_len();
        let size = match node {
            Node::Constant(_) => String::new(),
            _ => format!("  ; {bits} bits, {} limbs", limbs(plan.highs[at])),
        };
        let _ = writeln!(text, "%{at} = {}{size}", node_text(node));
    }
    if plan.impossible {
        text.push_str("guards contradict each other: every row fails\n");
    }
    ends(&mut text, &plan.function);
    for (condition, case) in plan.split.iter().flat_map(|split| &split.cases) {
        let node = plan.split.as_ref().map_or(0, |split| split.node);
        let _ = writeln!(text, "case %{node} {}", condition_text(*condition));
        plan_text(case).lines().for_each(|line| {
            let _ = writeln!(text, "    {line}");
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use revm::bytecode::opcode as op;

    use super::*;
    use crate::native::ssa::ir::Builder;

    #[test]
    fn a_plan_is_readable() {
        let mut builder = Builder::new();
        let (a, b) = (builder.bounded_input(0, 128), builder.bounded_input(1, 100));
        let product = builder.pure(op::MUL, [a, b, 0]);
        let ray = builder.constant(U256::from(10).pow(U256::from(27)));
        let scaled = builder.pure(op::DIV, [product, ray, 0]);
        let less = builder.pure(op::LT, [a, b, 0]);
        builder.guard(less, Condition::NonZero);
        builder.output(scaled);
        let function = builder.finish();
        let plan = Plan::new(&function, &[]).expect("well-formed");
        // Below an input of 100 bits are 100 bits: the product fits into four limbs.
        assert_eq!(
            plan_text(&plan),
            "%0 = input 0 of 128 bits  ; 128 bits, 2 limbs\n\
             %1 = input 1 of 100 bits  ; 100 bits, 2 limbs\n\
             %2 = LT %0 %1  ; 1 bits, 1 limbs\n\
             %3 = MUL %0 %1  ; 200 bits, 4 limbs\n\
             %4 = 0x33b2e3c9fd0803ce8000000\n\
             %5 = DIV %3 %4  ; 111 bits, 2 limbs\n\
             guard %2 != 0\n\
             output 0 = %5\n"
        );
        assert!(function_text(&function).starts_with("%0 = input 0 of 128 bits\n"));
    }
}
