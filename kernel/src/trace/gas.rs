//! Gas of a transaction as an expression, so that a program can go on with it.
//!
//! Every term is an expression with its value on the row that is recorded. What a path spends besides is what is left.

use revm::{bytecode::opcode as op, context_interface::cfg::GasParams, primitives::U256};

use crate::faults::Fault;

use super::{
    arithmetic::compute,
    course::Course,
    ending::{DataGas, PathGas},
    functions::Known,
    graph::{Node, ZERO},
};

/// What a transaction pays for: calldata with zeros in its holes, each other byte of those, and execution.
pub struct Bill {
    pub base: DataGas,
    pub byte: DataGas,
    pub params: GasParams,
}

/// A sum with a constant part, and the most that the rest can be.
#[derive(Default)]
struct Sum {
    fixed: u64,
    most: u64,
    parts: Vec<Known>,
}

impl Sum {
    /// What its varying parts are on the recorded row.
    fn varying(&self) -> u64 {
        self.parts.iter().map(|(_, value)| value.saturating_to::<u64>()).sum()
    }
}

impl Course<'_> {
    /// Gas that a transaction uses, with the words of its calldata.
    pub fn gas_used(&mut self, gas: &PathGas, bill: &Bill, words: &[Known], success: bool) -> Node {
        let (mut spent, mut refund, mut taken_back) = (Sum::default(), Sum::default(), Sum::default());
        for store in &gas.stores {
            let values = [store.original, store.present, store.new].map(|node| self.seen(node));
            self.charge(&mut spent, values, &bill.params);
            if store.refunds && success {
                self.refund(&mut refund, &mut taken_back, values, &bill.params);
            }
        }
        for exponent in &gas.exponents {
            let bytes = self.byte_length(self.seen(*exponent));
            self.add_times(&mut spent, bytes, bill.params.exp_cost(U256::ONE), 32);
        }
        for choice in &gas.choices {
            let condition = self.seen(choice.condition);
            let [a, b] = choice.gas.map(|gas| self.number(gas));
            let part = self.choose(condition, a, b);
            self.add(&mut spent, part, choice.gas[0].max(choice.gas[1]));
        }
        // All that the execution cost is known: what does not vary is the rest.
        spent.fixed = gas.constant.saturating_sub(spent.varying()) + bill.base.intrinsic;
        let mut floor = Sum { fixed: bill.base.floor, ..Sum::default() };
        for word in words {
            let bytes = self.nonzero_bytes(*word);
            self.add_times(&mut spent, bytes, bill.byte.intrinsic, 32);
            self.add_times(&mut floor, bytes, bill.byte.floor, 32);
        }
        let all = self.total(&spent);
        let used = self.less_refund(all, &spent, &refund, &taken_back, bill.params.max_refund_quotient());
        let refunds = if Fault::FloorForgotten.is_on() { 0 } else { refund.fixed };
        let refunded = match refunds + refund.most {
            0 => 0,
            _ => spent.fixed / bill.params.max_refund_quotient(),
        };
        let least = spent.fixed - refunded;
        if floor.fixed + floor.most <= least {
            return used.0;
        }
        let floor = self.total(&floor);
        self.larger(used, floor).0
    }

    /// A cost of an SSTORE that depends on the slot's value before the transaction, now, and from now on.
    fn charge(&mut self, spent: &mut Sum, [original, present, new]: [Known; 3], params: &GasParams) {
        let same = self.on(op::EQ, new, present);
        let unwritten = self.on(op::EQ, original, present);
        let empty = self.not(original);
        let changed = self.not(same);
        let charged = self.on(op::AND, changed, unwritten);
        // Three numbers that revm knows by name: what they are is asked for, not repeated.
        let [set, reset] = [params.sstore_set_without_load_cost(), params.sstore_reset_without_cold_load_cost()];
        let part = self.either(charged, empty, [set, reset]);
        self.add(spent, part, set.max(reset));
    }

    fn refund(
        &mut self,
        refund: &mut Sum,
        taken_back: &mut Sum,
        [original, present, new]: [Known; 3],
        params: &GasParams,
    ) {
        let same = self.on(op::EQ, new, present);
        let changed = self.not(same);
        let empty = self.not(original);
        let there = self.not(empty);
        let none = self.not(new);
        let (clearing, zero) = (params.sstore_clearing_slot_refund(), self.number(0));
        let amount = self.number(clearing);
        let mut cleared = self.on(op::AND, changed, none);
        if original.0 != present.0 {
            cleared = self.on(op::AND, cleared, there);
            let gone = self.not(present);
            let filled = self.on(op::AND, changed, gone);
            let filled = self.on(op::AND, filled, there);
            let part = self.choose(filled, amount, zero);
            self.add(taken_back, part, clearing);
            let equal = self.on(op::EQ, original, new);
            let restored = self.on(op::AND, changed, equal);
            let [set, reset] = [params.sstore_set_refund(), params.sstore_reset_refund()];
            let part = self.either(restored, empty, [set, reset]);
            self.add(refund, part, set.max(reset));
        }
        let part = self.choose(cleared, amount, zero);
        self.add(refund, part, clearing);
    }

    /// What is paid of `all` that was spent: a part of it at most is refunded.
    fn less_refund(&mut self, all: Known, spent: &Sum, refund: &Sum, taken_back: &Sum, quotient: u64) -> Known {
        if refund.fixed + refund.most == 0 {
            return all;
        }
        let (mut due, back) = (self.total(refund), self.total(taken_back));
        if taken_back.fixed + taken_back.most > 0 {
            let (positive, difference) = (self.on(op::LT, back, due), self.on(op::SUB, due, back));
            let zero = self.number(0);
            due = self.choose(positive, difference, zero);
        }
        if refund.fixed + refund.most > spent.fixed / quotient && !Fault::RefundUncapped.is_on() {
            let quotient = self.number(quotient);
            let cap = self.on(op::DIV, all, quotient);
            let within = self.on(op::LT, due, cap);
            due = self.choose(within, due, cap);
        }
        self.on(op::SUB, all, due)
    }

    /// How many bytes of a word are not zero.
    fn nonzero_bytes(&mut self, word: Known) -> Known {
        const LOW_BITS: U256 = U256::from_limbs([0x0101_0101_0101_0101; 4]);
        let mut bits = word;
        for by in [4, 2, 1] {
            let moved = self.shifted_right(bits, by);
            bits = self.on(op::OR, bits, moved);
        }
        // Bits of the neighbour have come in from above; the lowest bit of a byte has none of them.
        let low = self.known(LOW_BITS);
        let mut sum = self.on(op::AND, bits, low);
        for by in [128, 64] {
            let upper = self.shifted_right(sum, by);
            sum = self.on(op::ADD, sum, upper);
        }
        let mask = self.number(u64::MAX);
        let sum = self.on(op::AND, sum, mask);
        let ones = self.number(0x0101_0101_0101_0101);
        let product = self.on(op::MUL, sum, ones);
        let count = self.shifted_right(product, 56);
        let mask = self.number(0xff);
        self.on(op::AND, count, mask)
    }

    /// How many bytes a number has.
    fn byte_length(&mut self, word: Known) -> Known {
        let all = self.number(256 + 7);
        let zeros = self.on(op::CLZ, word, (ZERO, U256::ZERO));
        let bits = self.on(op::SUB, all, zeros);
        self.shifted_right(bits, 3)
    }

    /// A sum as one expression.
    fn total(&mut self, sum: &Sum) -> Known {
        let mut total = self.number(sum.fixed);
        for part in &sum.parts {
            total = self.on(op::ADD, *part, total);
        }
        total
    }

    fn add(&mut self, sum: &mut Sum, part: Known, most: u64) {
        match self.graph.as_constant(part.0) {
            Some(value) => sum.fixed += value.saturating_to::<u64>(),
            None => {
                sum.most += most;
                sum.parts.push(part);
            }
        }
    }

    fn add_times(&mut self, sum: &mut Sum, count: Known, price: u64, most: u64) {
        let price_word = self.number(price);
        let part = self.on(op::MUL, count, price_word);
        self.add(sum, part, price * most);
    }

    /// Nothing unless `holds`; then the first amount where `first`, else the second.
    fn either(&mut self, holds: Known, first: Known, amounts: [u64; 2]) -> Known {
        let ([a, b], zero) = (amounts.map(|amount| self.number(amount)), self.number(0));
        let amount = self.choose(first, a, b);
        self.choose(holds, amount, zero)
    }

    fn larger(&mut self, a: Known, b: Known) -> Known {
        let less = self.on(op::LT, a, b);
        self.choose(less, b, a)
    }

    fn choose(&mut self, condition: Known, a: Known, b: Known) -> Known {
        let node = self.graph.select(condition.0, a.0, b.0);
        (node, if condition.1.is_zero() { b.1 } else { a.1 })
    }

    fn not(&mut self, a: Known) -> Known {
        self.on(op::ISZERO, a, (ZERO, U256::ZERO))
    }

    fn shifted_right(&mut self, word: Known, by: u64) -> Known {
        let by = self.number(by);
        self.on(op::SHR, by, word)
    }

    fn on(&mut self, opcode: u8, a: Known, b: Known) -> Known {
        let node = self.graph.pure(opcode, [a.0, b.0, ZERO]);
        let value = compute(opcode, a.1, b.1, U256::ZERO);
        match self.is_pinned(node) {
            true => self.known(value),
            false => (node, value),
        }
    }

    fn number(&mut self, value: u64) -> Known {
        self.known(U256::from(value))
    }

    fn known(&mut self, value: U256) -> Known {
        (self.graph.constant(value), value)
    }

    /// An expression of which the recorder has seen the value.
    fn seen(&self, node: Node) -> Known {
        let seen = self.effects.as_ref().and_then(|effects| effects.seen.get(&node).copied());
        (node, self.graph.as_constant(node).or(seen).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use revm::primitives::{Address, hardfork::SpecId};

    use super::*;
    use crate::trace::{
        diamond::Choice,
        effects::Effects,
        ending::Store,
        graph::{BlockField, Field, Graph},
        places::Places,
        surroundings::{Surroundings, Unread},
        values::Values,
        watch::Watch,
    };

    /// Inputs of a row and nothing else.
    struct Inputs(Vec<U256>);

    impl Surroundings for Inputs {
        fn input(&self, at: u32) -> U256 {
            self.0[at as usize]
        }

        fn block(&self, _field: BlockField) -> U256 {
            U256::ZERO
        }

        fn slot(&mut self, _account: Address, _key: U256) -> Result<U256, Unread> {
            Err(Unread)
        }

        fn account(&mut self, _field: Field, _address: U256) -> Result<U256, Unread> {
            Err(Unread)
        }
    }

    /// Numbers that are the same in every process.
    struct Drawn(u64);

    impl Drawn {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }

        fn word(&mut self) -> U256 {
            match self.below(3) {
                0 => U256::from(self.below(3)),
                1 => U256::from(self.below(1 << 20)) << self.below(256) as usize,
                _ => U256::from_limbs([self.below(1 << 31), self.below(256) << 40, self.below(2), self.below(2) << 63]),
            }
        }

        /// A row: five values of slots of which few differ, an exponent, a condition, two words of calldata.
        fn row(&mut self) -> Vec<U256> {
            let mut row: Vec<U256> = (0..5).map(|_| U256::from(self.below(3))).collect();
            row.extend([self.word(), U256::from(self.below(2)), self.word(), self.word()]);
            row
        }
    }

    /// Two slots, one written once, the other three times, in a frame that is kept or not; an exponent and a choice. Any
    /// of it may be left out or constant: refunds are absent, the same on every row, or vary.
    fn path(graph: &mut Graph, drawn: &mut Drawn) -> PathGas {
        let mut node: Vec<Node> = (0..7).map(|at| graph.input(at)).collect();
        let constants = drawn.below(4);
        for node in &mut node[..5] {
            if drawn.below(4) < constants {
                *node = graph.constant(U256::from(drawn.below(3)));
            }
        }
        let mut store = |original, present, new| Store { original, present, new, refunds: drawn.below(4) > 0 };
        let single = store(node[0], node[0], node[1]);
        let repeated = [(node[2], node[3]), (node[3], node[4]), (node[4], node[2])];
        let mut stores = repeated.map(|(present, new)| store(node[2], present, new)).to_vec();
        stores.truncate(drawn.below(4) as usize);
        if drawn.below(4) > 0 {
            stores.push(single);
        }
        let (exponents, choices) = (drawn.below(2) as usize, drawn.below(2) as usize);
        PathGas {
            constant: 0,
            stores,
            exponents: vec![node[5]; exponents],
            choices: vec![Choice { condition: node[6], gas: [30, 44] }; choices],
        }
    }

    #[test]
    fn the_expression_is_what_the_gas_schedule_says() {
        let mut drawn = Drawn(7);
        for spec in [SpecId::LONDON, SpecId::MERGE, SpecId::SHANGHAI, SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA] {
            for case in 0..800 {
                let (mut graph, watch, places) = (Graph::new(), Watch::default(), Places::default());
                let (mut gas, row) = (path(&mut graph, &mut drawn), drawn.row());
                let bill = Bill {
                    base: DataGas { intrinsic: 21_000, floor: 21_000 + 300 * drawn.below(9) },
                    byte: DataGas { intrinsic: 12, floor: 30 },
                    params: GasParams::new_spec(spec),
                };
                // What else the path costs: often so little that the floor decides.
                let most = [3_000, 30_000][drawn.below(2) as usize];
                let (success, rest) = (case % 5 > 0, 100 + drawn.below(most));
                let mut effects = Effects::new(&watch, &places);
                effects.seen.extend(row.iter().enumerate().map(|(at, value)| (graph.input(at), *value)));
                let values = valued(&graph, &row);
                gas.constant = rest + gas.varying(&values, &bill.params).0;
                let mut course = Course::new(&mut graph, 0, Some(effects));
                let words = [7, 8].map(|at| (course.graph.input(at), row[at]));
                let used = course.gas_used(&gas, &bill, &words, success);
                gas.constant = rest;
                for other in [row].into_iter().chain((0..20).map(|_| drawn.row())) {
                    let bytes = |at: usize| other[at].as_le_slice().iter().filter(|byte| **byte != 0).count() as u64;
                    let bytes = bytes(7) + bytes(8);
                    let data = DataGas {
                        intrinsic: bill.base.intrinsic + bytes * bill.byte.intrinsic,
                        floor: bill.base.floor + bytes * bill.byte.floor,
                    };
                    let values = valued(&graph, &other);
                    let wanted = gas.used(&values, &bill.params, data, success);
                    assert_eq!(values.get(used), U256::from(wanted), "{spec:?}, {other:?}, {gas:?}");
                }
            }
        }
    }

    /// The values of all expressions on a row.
    fn valued(graph: &Graph, row: &[U256]) -> Values {
        let (mut values, mut inputs) = (Values::default(), Inputs(row.to_vec()));
        values.grow(graph);
        for node in 0..graph.len() as Node {
            graph.evaluate(node, &mut values, &mut inputs).unwrap();
        }
        values
    }
}
