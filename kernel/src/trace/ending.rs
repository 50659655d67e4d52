//! How a recorded transaction ends: status, output, writes, logs, and gas to the unit.

use revm::{
    context_interface::{cfg::GasParams, context::SStoreResult},
    primitives::{Address, U256},
};
use serde::{Deserialize, Serialize};

use crate::faults::Fault;

use super::{
    diamond::Choice,
    graph::{Node, Text},
    values::Values,
};

/// A slot that the transaction leaves with another expression than it found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Write {
    pub address: Address,
    pub key: Node,
    pub original: Node,
    pub value: Node,
    /// Its number, where the key is the same on every row.
    pub place: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogShape {
    pub address: Address,
    pub topics: Vec<Node>,
    pub data: Text,
}

/// One SSTORE: what it costs depends on three values.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Store {
    pub original: Node,
    pub present: Node,
    pub new: Node,
    /// Whether its refund counts: a frame that reverts takes it back.
    pub refunds: bool,
}

/// Gas of a path as an expression: constant but for SSTORE classes, exponents and converted branches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathGas {
    /// Gas of execution, without what follows.
    pub constant: u64,
    pub stores: Vec<Store>,
    pub exponents: Vec<Node>,
    pub choices: Vec<Choice>,
}

/// Gas that a transaction pays for its calldata: up front, and at least in all.
#[derive(Clone, Copy, Debug)]
pub struct DataGas {
    pub intrinsic: u64,
    pub floor: u64,
}

impl PathGas {
    /// Gas of the execution that varies, and the refund.
    pub fn varying(&self, values: &Values, params: &GasParams) -> (u64, i64) {
        let (mut spent, mut refund) = (0, 0);
        for store in &self.stores {
            let result = SStoreResult {
                original_value: values.get(if Fault::StoreClass.is_on() { store.present } else { store.original }),
                present_value: values.get(store.present),
                new_value: values.get(store.new),
            };
            spent += params.sstore_dynamic_gas(true, &result, false);
            if store.refunds {
                refund += params.sstore_refund(true, &result);
            }
        }
        for exponent in &self.exponents {
            spent += params.exp_cost(values.get(*exponent));
        }
        for choice in &self.choices {
            spent += choice.gas[usize::from(values.get(choice.condition).is_zero())];
        }
        (spent, refund)
    }

    /// Gas spent by the whole transaction, and its refund after the cap.
    pub fn spent(&self, values: &Values, params: &GasParams, data: DataGas, success: bool) -> (u64, u64) {
        let (varying, refund) = self.varying(values, params);
        let spent = data.intrinsic + self.constant + varying;
        let refund = if success { refund.max(0) as u64 } else { 0 };
        (spent, refund.min(spent / params.max_refund_quotient()))
    }

    /// Gas used by the whole transaction.
    pub fn used(&self, values: &Values, params: &GasParams, data: DataGas, success: bool) -> u64 {
        let (spent, refund) = self.spent(values, params, data, success);
        (spent - refund).max(data.floor)
    }
}

/// What a recorded transaction does, in terms of its graph.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ending {
    /// Otherwise it reverts.
    pub success: bool,
    /// Whether code was executed, at a price.
    pub ran: bool,
    pub output: Text,
    pub gas: PathGas,
    pub writes: Vec<Write>,
    pub logs: Vec<LogShape>,
    /// Accounts besides the sender that come into the overlay, in order of their addresses.
    pub touched: Vec<Address>,
    /// Senders of a program's transactions, and how many each has sent.
    pub nonces: Vec<(Address, u64)>,
}

impl Ending {
    /// The same over other numbers of its expressions, without logs.
    pub fn renumbered(&self, number: impl Fn(Node) -> Node) -> Self {
        let mut ending = Self { logs: Vec::new(), ..self.clone() };
        let renumber = |node: &mut Node| *node = number(*node);
        ending.output.parts.iter_mut().for_each(|part| renumber(&mut part.node));
        ending.gas.exponents.iter_mut().for_each(renumber);
        ending.gas.choices.iter_mut().for_each(|choice| renumber(&mut choice.condition));
        for Store { original, present, new, .. } in &mut ending.gas.stores {
            [original, present, new].into_iter().for_each(renumber);
        }
        for Write { key, original, value, .. } in &mut ending.writes {
            [key, original, value].into_iter().for_each(renumber);
        }
        ending
    }

    /// What its status, output, gas and writes are made of.
    pub fn nodes(&self) -> Vec<Node> {
        let stores = self.gas.stores.iter().flat_map(|store| [store.original, store.present, store.new]);
        let writes = self.writes.iter().flat_map(|write| [write.key, write.original, write.value]);
        let output = self.output.parts.iter().map(|part| part.node);
        let choices = self.gas.choices.iter().map(|choice| choice.condition);
        output.chain(stores).chain(self.gas.exponents.iter().copied()).chain(choices).chain(writes).collect()
    }

    /// What its logs are made of.
    pub fn log_nodes(&self) -> Vec<Node> {
        let data = self.logs.iter().flat_map(|log| log.data.parts.iter().map(|part| part.node));
        self.logs.iter().flat_map(|log| log.topics.iter().copied()).chain(data).collect()
    }

    /// The slots that change, with their new values.
    pub fn changes<'a>(&'a self, values: &'a Values) -> impl Iterator<Item = (&'a Write, U256, U256)> {
        self.writes.iter().filter_map(|write| {
            let value = values.get(write.value);
            (value != values.get(write.original)).then(|| (write, values.get(write.key), value))
        })
    }
}
