//! What a guard tells about the nodes around it: rows that break it have no results anyway.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    graph::Graph,
    ir::{Condition, Node, NodeId},
    range::{Range, mask},
};

/// How often facts travel from node to node after one guard.
const MOST_STEPS: usize = 1 << 12;

impl Graph {
    /// Take a condition on a node as given from here on.
    pub fn assume(&mut self, node: NodeId, condition: Condition) {
        let range = match condition {
            Condition::Zero => Range::exactly(U256::ZERO),
            Condition::NonZero => Range::between(U256::ONE, U256::MAX),
            Condition::Equal(value) => Range::exactly(value),
        };
        let mut waiting = vec![(node, range)];
        for _ in 0..MOST_STEPS {
            let Some((node, range)) = waiting.pop() else { return };
            self.narrow(node, range, &mut waiting);
        }
    }

    fn narrow(&mut self, id: NodeId, range: Range, waiting: &mut Vec<(NodeId, Range)>) {
        let before = self.ranges[id as usize];
        let Some(after) = before.meet(&range) else {
            self.impossible = true;
            return;
        };
        if after == before {
            return;
        }
        self.ranges[id as usize] = after;
        if !matches!(self.nodes[id as usize], Node::Constant(_)) {
            self.backward(id, waiting);
        }
        for user in self.users[id as usize].clone() {
            waiting.push((user, self.derived(&self.nodes[user as usize])));
        }
    }

    /// What a node's range says about its operands.
    fn backward(&mut self, id: NodeId, waiting: &mut Vec<(NodeId, Range)>) {
        let range = self.ranges[id as usize];
        match self.nodes[id as usize] {
            Node::Pure(op::ISZERO, [a, ..]) => match range.as_constant() {
                Some(value) if value.is_zero() => waiting.push((a, Range::between(U256::ONE, U256::MAX))),
                Some(_) => waiting.push((a, Range::exactly(U256::ZERO))),
                None => {}
            },
            Node::Pure(op::LT, [a, b, _]) => self.compared(range, a, b, waiting),
            Node::Pure(op::EQ, [a, b, _]) => self.equated(range, a, b, waiting),
            Node::Pure(op::AND, [a, b, _]) => {
                let (left, right) = (*self.range(a), *self.range(b));
                for (node, other) in [(a, right), (b, left)] {
                    // Where the other word certainly has a bit, this one decides it.
                    waiting.push((node, Range::bits(range.maybe | !other.sure, range.sure)));
                }
            }
            Node::Pure(op::OR, [a, b, _]) => {
                for node in [a, b] {
                    waiting.push((node, Range::bits(range.maybe, U256::ZERO)));
                }
            }
            Node::Pure(op::SHR, [by, value, _]) => {
                if let Some(by) = self.as_small(by).filter(|by| *by < 256)
                    && range.high.bit_len() + by <= 256
                {
                    waiting.push((value, Range::between(range.low << by, range.high << by | mask(by))));
                }
            }
            Node::Pure(op::DIV, [a, b, _]) => {
                if let Some(divisor) = self.as_constant(b).filter(|divisor| !divisor.is_zero())
                    && let Some(high) = range.high.checked_add(U256::ONE).and_then(|next| next.checked_mul(divisor))
                {
                    waiting.push((a, Range::between(range.low.saturating_mul(divisor), high - U256::ONE)));
                }
            }
            Node::ProductAbove([a, b], limit) if range.high.is_zero() => self.bounded(a, b, limit, waiting),
            _ => {}
        }
    }

    /// What `a < b` or its opposite says.
    fn compared(&mut self, range: Range, a: NodeId, b: NodeId, waiting: &mut Vec<(NodeId, Range)>) {
        let (left, right) = (*self.range(a), *self.range(b));
        let Some(less) = range.as_constant() else { return };
        if less.is_zero() {
            waiting.push((a, Range::between(right.low, U256::MAX)));
            waiting.push((b, Range::between(U256::ZERO, left.high)));
            self.put_in_order(b, a, waiting);
            self.not_carried(a, b, waiting);
        } else {
            if let Some(high) = right.high.checked_sub(U256::ONE) {
                waiting.push((a, Range::between(U256::ZERO, high)));
            }
            if let Some(low) = left.low.checked_add(U256::ONE) {
                waiting.push((b, Range::between(low, U256::MAX)));
            }
            self.put_in_order(a, b, waiting);
        }
    }

    fn equated(&mut self, range: Range, a: NodeId, b: NodeId, waiting: &mut Vec<(NodeId, Range)>) {
        if range.is_nonzero() {
            let (left, right) = (*self.range(a), *self.range(b));
            waiting.push((a, right));
            waiting.push((b, left));
        } else if range.high.is_zero()
            && let Some(value) = self.as_constant(b)
        {
            // A word that is not its own lowest or highest value.
            let old = *self.range(a);
            if value == old.low && value < U256::MAX {
                waiting.push((a, Range::between(value + U256::ONE, U256::MAX)));
            } else if value == old.high && !value.is_zero() {
                waiting.push((a, Range::between(U256::ZERO, value - U256::ONE)));
            }
        }
    }

    /// The product of both is at most `limit`.
    fn bounded(&mut self, a: NodeId, b: NodeId, limit: U256, waiting: &mut Vec<(NodeId, Range)>) {
        for (node, other) in [(a, b), (b, a)] {
            let least = self.range(other).low;
            if !least.is_zero() {
                waiting.push((node, Range::between(U256::ZERO, limit / least)));
            }
        }
        self.exact.insert((op::MUL, [a.min(b), a.max(b)]));
        for arguments in [[a, b, 0], [b, a, 0]] {
            if let Some(product) = self.find(&Node::Pure(op::MUL, arguments)) {
                let range = self.derived(&self.nodes[product as usize]);
                let bound = Range::between(U256::ZERO, limit);
                waiting.push((product, range.meet(&bound).unwrap_or(range)));
            }
        }
    }

    /// Differences of words in order do not wrap.
    fn put_in_order(&mut self, lower: NodeId, upper: NodeId, waiting: &mut Vec<(NodeId, Range)>) {
        if self.ordered.insert((lower, upper))
            && let Some(difference) = self.find(&Node::Pure(op::SUB, [upper, lower, 0]))
        {
            waiting.push((difference, self.derived(&self.nodes[difference as usize])));
        }
    }

    /// What `iszero(a < b)` says about a sum: `a` is the sum and `b` a summand, or `a` is all but a summand.
    fn not_carried(&mut self, a: NodeId, b: NodeId, waiting: &mut Vec<(NodeId, Range)>) {
        let sum = match self.nodes[a as usize] {
            Node::Pure(op::ADD, [left, right, _]) if left == b || right == b => [left, right],
            Node::Pure(op::NOT, [left, ..]) => [left, b],
            _ => return,
        };
        let [left, right] = [sum[0].min(sum[1]), sum[0].max(sum[1])];
        self.exact.insert((op::ADD, [left, right]));
        for arguments in [[left, right, 0], [right, left, 0]] {
            if let Some(sum) = self.find(&Node::Pure(op::ADD, arguments)) {
                waiting.push((sum, self.derived(&self.nodes[sum as usize])));
            }
        }
    }
}
