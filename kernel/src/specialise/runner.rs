//! What a thread keeps between the calls of its rows: the sites that it has met, their code, and room for values.

use std::{
    cell::Cell,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

use revm::{
    context::{BlockEnv, TxEnv},
    primitives::{Address, U256},
};

use super::{
    Answer, Call, Mode, Specialiser,
    programs::whole::Whole,
    recorded::AtHand,
    row::keep,
    sites::{
        code::Room,
        paths::{Hot, MOST_TRIES},
        site::Site,
    },
};
use crate::{
    machine::{Failure, Machine},
    trace::DataGas,
};

/// Sites that a thread keeps at hand.
const MOST_MET: usize = 32;
/// Slots that a thread keeps the numbers of.
const LATELY: usize = 64;
/// How often the paths with code are put in order.
const SORTED_EVERY: u64 = 512;
/// First hits of each code that are also interpreted, whatever the mode.
const COMPARED: u32 = 2;

/// A site, and its paths with code as they were when the thread last looked.
struct Met {
    key: (u64, Address, Address),
    site: Arc<Site>,
    hand: AtHand,
    hits: Cell<u64>,
}

impl Met {
    fn new(key: (u64, Address, Address), site: Arc<Site>) -> Self {
        Self { key, site, hand: AtHand::default(), hits: Cell::new(0) }
    }

    fn is_ready(&mut self) -> bool {
        self.hand.is_ready(&self.site.recorded)
    }
}

impl Drop for Met {
    fn drop(&mut self) {
        self.site.recorded.count_native(self.hits.get());
    }
}

/// A slot that was read lately, and its number.
type Lately = (Address, U256, u32);

pub struct Runner<'a> {
    pub all: &'a Specialiser,
    met: Vec<Met>,
    /// Slots read outside transactions, by a few bits of their keys.
    lately: Vec<Lately>,
    pub(super) room: Room,
    /// The program that its rows run.
    pub(super) whole: Option<Whole>,
    /// Whether every replay of the row is interpreted too.
    pub checked: bool,
}

impl<'a> Runner<'a> {
    pub fn new(all: &'a Specialiser) -> Self {
        Self { all, met: Vec::new(), lately: Vec::new(), room: Room::default(), whole: None, checked: false }
    }

    /// Read a slot outside a transaction.
    pub fn load(&mut self, machine: &mut Machine, address: Address, key: U256) -> Result<U256, Failure> {
        let Some(number) = self.number(address, key) else { return machine.read_stored(address, key) };
        if let Some(value) = machine.overlay().plane.get(number) {
            return Ok(value);
        }
        let value = machine.read_stored(address, key)?;
        machine.overlay().plane.learn(number, value);
        Ok(value)
    }

    fn number(&mut self, address: Address, key: U256) -> Option<u32> {
        if self.lately.is_empty() {
            self.lately.resize(LATELY, (Address::ZERO, U256::ZERO, u32::MAX));
        }
        let at = (key.as_limbs()[0] ^ u64::from(address[19])) as usize % LATELY;
        let known = &mut self.lately[at];
        if known.2 == u32::MAX || known.0 != address || known.1 != key {
            *known = (address, key, self.all.places.number_unrecorded(address, key)?);
        }
        Some(known.2)
    }

    /// Run a transaction, by replay where its path is known. The machine must not be probing.
    pub fn call(
        &mut self,
        machine: &mut Machine,
        block: &BlockEnv,
        call: &Call<'_>,
        tx: impl Fn() -> Result<TxEnv, Failure>,
    ) -> Result<Answer, Failure> {
        let all = self.all;
        let Some(at) = self.meet(block, call) else {
            return all.interpret(machine, tx()?, call.commit).map(Answer::Interpreted);
        };
        let (met, room) = (&mut self.met[at], &mut self.room);
        let began = met.site.recorded.counts.is_timed().then(Instant::now);
        let found = if met.is_ready() { find(met, room, machine, block, call, all) } else { None };
        let Some((hot, data)) = found else {
            return met.site.call(all, machine, block, call, (began, self.checked), tx);
        };
        met.hits.set(met.hits.get() + 1);
        let hits = hot.hits.fetch_add(1, Relaxed);
        if hits % SORTED_EVERY == SORTED_EVERY - 1 {
            met.hand.sort();
        }
        let (ending, values) = (&hot.code.ending, &room.words);
        let gas = ending.gas.used(values, &all.params, data, ending.success);
        let seldom = hot.fresh.load(Relaxed) < COMPARED && hot.fresh.fetch_add(1, Relaxed) < COMPARED;
        if began.is_some() || all.mode == Mode::Check || seldom || self.checked {
            let replayed = began.map(|began| began.elapsed());
            let generation = met.hand.generation();
            let found =
                met.site.verify(all, machine, call, (ending, values, gas), tx()?, replayed, |result, machine| {
                    met.site.logs_differ(all, (generation, hot.step), result, machine, block, call)
                })?;
            if let Some(found) = found {
                return Err(met.site.wrong(all, machine, block, call, found, met.site.tree(generation)));
            }
        }
        let output = if ending.output.bytes.is_empty() { Vec::new() } else { values.write(&ending.output) };
        if call.commit {
            let number = met.site.recorded.number(met.hand.generation(), hot.step);
            keep(machine.database(), (number, ending), values, call.sender, (&all.watch, &all.places))
                .map_err(|miss| Failure::Missing(vec![miss]))?;
        }
        Ok(Answer::Replayed { success: ending.success, gas, output, code_ran: ending.ran })
    }

    /// The number of the call's site among those met so far; none if its call is the interpreter's.
    fn meet(&mut self, block: &BlockEnv, call: &Call<'_>) -> Option<usize> {
        if !self.all.is_usual(block) {
            return None;
        }
        let key = (call.shape.id, call.to, call.sender);
        if let Some(at) = self.met.iter().position(|met| met.key == key) {
            return Some(at);
        }
        if self.met.len() >= MOST_MET {
            self.met.clear();
        }
        let site = self.all.site(call)?;
        self.met.push(Met::new(key, site));
        Some(self.met.len() - 1)
    }
}

/// The path with code that accepts the call, and what its calldata costs. Nothing is kept yet.
fn find<'m>(
    met: &'m Met,
    room: &mut Room,
    machine: &mut Machine,
    block: &BlockEnv,
    call: &Call<'_>,
    all: &Specialiser,
) -> Option<(&'m Arc<Hot>, DataGas)> {
    let data = met.site.data_gas(call)?;
    let mut view = all.view(machine, block, call);
    let hot = met.hand.list.iter().take(MOST_TRIES).find(|hot| hot.code.run(room, &mut view))?;
    Some((hot, data))
}
