//! Calls of rows are recorded, replayed, compiled, kept as bytes and taken up again, and what is damaged is refused.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use revm::{
    context::TxEnv,
    primitives::{Address, B256, TxKind, U256, hex},
};
use serde_json::{Value, json};

use super::{Answer, Call, Fault, Mode, Runner, Shape, Specialiser, finish_compiling, statistics::Counts};
use crate::{
    evm::transaction,
    machine::Failure,
    native::samples::Samples,
    storage::{overlay::Row, world::World},
    test_world::{address, on, row, settings, slot, world},
};

const TARGET: u8 = 0xaa;
/// Adds the word to slot 0 if it is even; if it is odd, adds 5 to slot 1 and the price in slot 9 to slot 2.
const COUNTS: &[u8] =
    &hex!("60003560011660145760003560005401600055005b600554506005600154016001556009546002540160025500");
const GAS: u64 = 1_000_000;

/// A world, a row of it, and what its calls have recorded.
struct Played {
    world: Arc<World>,
    row: Row,
    all: Specialiser,
    shape: Shape,
}

impl Played {
    fn new(mode: Mode, fault: Option<Fault>) -> Self {
        let (world, row) = (world(&[(address(TARGET), COUNTS, &[(1, 100), (9, 3)])]), row());
        let all = Specialiser::new(mode, &settings(), &row.block, fault).expect("a hard fork that is modelled");
        Self { world, row, all, shape: Shape::new(vec![0; 32], vec![0], GAS) }
    }

    fn tx(&self, word: U256) -> TxEnv {
        let kind = TxKind::Call(address(TARGET));
        transaction(kind, &word.to_be_bytes::<32>(), None, U256::ZERO, Some(GAS), 0, None, 0)
    }

    /// Send these words; how many were replayed.
    fn send(&mut self, words: impl IntoIterator<Item = u64>) -> Result<usize, Failure> {
        let (mut runner, mut replayed) = (Runner::new(&self.all), 0);
        let (world, shape) = (&self.world, &self.shape);
        for word in words {
            let holes = [U256::from(word)];
            let tx = self.tx(holes[0]);
            let call = Call { shape, to: address(TARGET), sender: Address::ZERO, holes: &holes, commit: true };
            let answer = on(world, &mut self.row, |machine, block| {
                runner.call(machine, &block.clone(), &call, || Ok(tx.clone()))
            })?;
            replayed += usize::from(matches!(answer, Answer::Replayed { success: true, .. }));
        }
        Ok(replayed)
    }

    fn slots(&mut self) -> [U256; 3] {
        [0, 1, 2].map(|key| slot(&self.world, &mut self.row, address(TARGET), key))
    }

    fn count(&self, name: &str) -> u64 {
        let sites = self.all.statistics();
        let [site] = sites.as_slice() else { panic!("{} sites", sites.len()) };
        match name {
            "calls" => site.calls,
            "hits" => site.hits,
            "native" => site.native,
            "paths" => site.paths,
            "cached" => site.cached,
            "recordings" => site.recordings,
            "compiled" => site.compiled,
            "resets" => site.resets,
            _ => panic!("no count '{name}'"),
        }
    }
}

/// Words of both kinds.
fn drawn(seed: u64, count: usize) -> Vec<u64> {
    let mut samples = Samples::new(seed);
    (0..count).map(|_| samples.bits() >> 20).collect()
}

/// What slots 0, 1 and 2 are after these words.
fn expected(words: &[u64]) -> [U256; 3] {
    let (odd, even): (Vec<u64>, Vec<u64>) = words.iter().partition(|word| **word % 2 == 1);
    let counted = odd.len() as u64;
    [even.iter().sum::<u64>(), 100 + 5 * counted, 3 * counted].map(U256::from)
}

#[test]
fn calls_are_replayed_and_do_what_the_code_does() {
    for mode in [Mode::On, Mode::Check] {
        let (mut played, words) = (Played::new(mode, None), drawn(1, 300));
        let replayed = played.send(words.clone()).expect("it runs");
        assert_eq!(played.slots(), expected(&words), "{mode:?}");
        assert!(replayed > 200, "{mode:?}: {replayed} of 300 calls were replayed");
        assert_eq!((played.count("calls"), played.count("hits")), (300, replayed as u64));
        assert_eq!((played.count("paths"), played.count("recordings")), (2, 2), "two ways through the code");
    }
}

#[test]
fn a_path_without_its_guard_is_found_by_the_comparison() {
    let mut played = Played::new(Mode::Check, Some(Fault::Guard));
    let failure = played.send(drawn(2, 300)).expect_err("an odd word goes the way of an even one");
    let Failure::Differs(found) = failure else { panic!("{failure:?}") };
    let message = found.message();
    assert!(message.contains(&format!("the replayed call {}.0x", address(TARGET))), "{message}");
    assert!(message.contains("differs from the interpreted one: "), "{message}");
}

#[test]
fn a_write_to_what_was_constant_forgets_the_paths() {
    let mut played = Played::new(Mode::On, None);
    played.send(vec![1; 150]).expect("it runs");
    assert!(played.count("hits") > 50);
    let world = Arc::clone(&played.world);
    on(&world, &mut played.row, |machine, _| played.all.store(machine, address(TARGET), U256::from(9), U256::from(40)))
        .expect("stored");
    let before = played.slots()[2];
    played.send(vec![1; 150]).expect("it runs");
    assert_eq!(played.slots()[2] - before, U256::from(40 * 150), "the new price counts at once");
    assert_eq!(played.count("resets"), 1);
}

#[test]
fn often_taken_paths_become_code_that_does_the_same() {
    let (mut played, words) = (Played::new(Mode::Check, None), drawn(3, 1_500));
    played.send(words.clone()).expect("it runs");
    finish_compiling();
    assert_eq!(played.count("compiled"), 2);
    let before = played.count("native");
    let more = drawn(4, 200);
    played.send(more.clone()).expect("every hit is compared");
    assert!(played.count("native") - before > 150, "{} calls were run by code", played.count("native") - before);
    assert_eq!(played.slots(), expected(&[words, more].concat()));
}

/// The bytes of a fleet that has recorded both paths, as JSON.
fn saved() -> Value {
    let mut played = Played::new(Mode::On, None);
    played.send(drawn(5, 300)).expect("it runs");
    serde_json::from_slice(&played.all.save().expect("bytes")).expect("JSON")
}

/// A fleet that these bytes are given to before its first call.
fn taken_up(document: &Value) -> (Result<usize, String>, Played) {
    let played = Played::new(Mode::Check, None);
    let loaded = played.all.load(&serde_json::to_vec(document).expect("bytes"));
    (loaded, played)
}

#[test]
fn what_was_kept_is_replayed_from_the_first_call_on() {
    let (loaded, mut played) = taken_up(&saved());
    assert_eq!(loaded, Ok(2));
    let words = drawn(6, 100);
    assert_eq!(played.send(words.clone()).expect("it runs"), 100);
    assert_eq!(played.slots(), expected(&words));
    assert_eq!((played.count("cached"), played.count("paths"), played.count("recordings")), (2, 2, 0));
}

#[test]
fn what_was_taken_up_is_kept_again_with_or_without_calls() {
    let document = saved();
    let (_, mut played) = taken_up(&document);
    for _ in 0..2 {
        let again: Value = serde_json::from_slice(&played.all.save().expect("bytes")).expect("JSON");
        assert_eq!(again["sites"][0]["paths"]["tree"]["steps"], document["sites"][0]["paths"]["tree"]["steps"]);
        assert_eq!(again["sites"].as_array().map(Vec::len), Some(1));
        played.send([2]).expect("it runs");
    }
}

#[test]
fn paths_of_another_block_or_other_rules_are_refused_as_a_whole() {
    let mut document = saved();
    let played = Played::new(Mode::On, None);
    assert!(played.all.load(b"{}").is_err());
    assert!(played.all.load(&serde_json::to_vec(&document).expect("bytes")[..500]).is_err());
    document["surroundings"] = json!("another block");
    let error = taken_up(&document).0.expect_err("refused");
    assert_eq!(error, "they were recorded in another block or under other rules");
    let mut later = row();
    later.block.prevrandao = Some(B256::repeat_byte(1));
    let other = Specialiser::new(Mode::On, &settings(), &later.block, None).expect("modelled");
    assert!(other.load(&serde_json::to_vec(&saved()).expect("bytes")).is_err());
}

/// Every place in a document where a number may be wrong, with a wrong one.
fn damages(document: &Value) -> Vec<(String, Value)> {
    let expressions = document["sites"][0]["paths"]["tree"]["expressions"].as_array().expect("a list");
    let steps = document["sites"][0]["paths"]["tree"]["steps"].as_array().expect("a list");
    let mut found = Vec::new();
    for (at, expression) in expressions.iter().enumerate() {
        let place = format!("/sites/0/paths/tree/expressions/{at}");
        match expression.as_object().and_then(|object| object.iter().next()).map(|(kind, _)| kind.as_str()) {
            Some("Pure") => {
                // No instruction has this code; an operand that comes later than what it is an operand of.
                found.push((format!("{place}/Pure/0"), json!(0x0c)));
                found.push((format!("{place}/Pure/0"), json!(0x54)));
                found.push((format!("{place}/Pure/1/0"), json!(at)));
            }
            Some("Input") => found.push((format!("{place}/Input"), json!(1))),
            _ => {}
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let place = format!("/sites/0/paths/tree/steps/{at}");
        found.push((format!("{place}/schedule"), json!([expressions.len()])));
        if step["next"].get("Fork").is_some() {
            found.push((format!("{place}/next/Fork/0/node"), json!(expressions.len())));
            found.push((format!("{place}/next/Fork/1/0/1"), json!(at)));
            found.push((format!("{place}/next/Fork/1/0/1"), json!(steps.len())));
        } else {
            found.push((format!("{place}/next/End"), json!({"Output": {"bytes": [], "parts": []}})));
            found.push((format!("{place}/next/End/Transaction/writes/0/value"), json!(expressions.len())));
            found.push((format!("{place}/next/End/Transaction/gas/stores/0/new"), json!(expressions.len())));
            let part = json!([{"node": 0, "from": 1, "length": 32, "at": 0}]);
            found.push((format!("{place}/next/End/Transaction/output/parts"), part));
        }
    }
    found.push(("/sites/0/paths/known/0/step".into(), json!(0)));
    found.push(("/sites/0/paths/known/0/step".into(), json!(steps.len())));
    found.push(("/sites/0/paths/known/0/guards/0/0/node".into(), json!(expressions.len())));
    found
}

#[test]
fn damaged_paths_are_refused_and_recorded_anew() {
    let document = saved();
    let damages = damages(&document);
    assert!(damages.len() > 20, "{} places", damages.len());
    for (place, wrong) in damages {
        let mut damaged = document.clone();
        let there = damaged.pointer_mut(&place).unwrap_or_else(|| panic!("nothing is at {place}"));
        assert_ne!(*there, wrong, "{place}");
        *there = wrong.clone();
        let (loaded, mut played) = taken_up(&damaged);
        loaded.unwrap_or_else(|error| panic!("{place}: {error}"));
        let words = drawn(7, 60);
        let replayed = played.send(words.clone()).unwrap_or_else(|failure| panic!("{place}: {failure:?}"));
        assert_eq!(played.count("cached"), 0, "{place} = {wrong} was taken up");
        assert_eq!(played.slots(), expected(&words), "{place}");
        assert!(replayed < 60, "{place}");
    }
}

#[test]
fn paths_that_rely_on_a_slot_that_rows_have_written_are_not_taken_up() {
    let mut document = saved();
    let relied = document["sites"][0]["folded"].as_array().expect("a list").clone();
    let price = relied.iter().find(|fact| fact.get("Slot").is_some_and(|slot| slot[1] == json!(U256::from(9))));
    document["changed"] = json!([price.expect("the price is constant on the path")]);
    let (_, mut played) = taken_up(&document);
    let words = drawn(8, 60);
    played.send(words.clone()).expect("it runs");
    assert_eq!(played.count("cached"), 0);
    assert_eq!(played.slots(), expected(&words));
}

/// The hits after which the next one is timed, among so many.
fn timed(hits: u64) -> Vec<u64> {
    let counts = Counts::default();
    let timed = (0..hits).filter(|hit| {
        counts.hits.store(*hit, Relaxed);
        counts.is_timed()
    });
    timed.collect()
}

#[test]
fn hits_are_timed_often_at_first_and_seldom_later() {
    let found = timed(40_000);
    assert!(found.iter().take(32).copied().eq((0..32).map(|at| 64 * at)));
    assert_eq!(found[32..], [2_048, 10_240, 18_432, 26_624, 34_816]);
}

#[test]
fn a_site_is_given_up_where_most_replays_take_longer() {
    let [short, long] = [1, 2].map(Duration::from_micros);
    for (slower, off) in [(12, false), (13, true), (24, true)] {
        let counts = Counts::default();
        for at in 0..24 {
            assert!(!counts.is_off(), "too early to say");
            if at < slower { counts.time(long, short) } else { counts.time(short, long) }
        }
        let reason = off.then(|| "replays take longer than the interpreter".to_owned());
        assert_eq!((counts.is_off(), counts.reason()), (off, reason), "{slower} of 24 were slower");
    }
}

#[test]
fn the_first_reason_to_give_a_site_up_stays() {
    let counts = Counts::default();
    counts.switch_off("few calls are replayed");
    counts.switch_off("no machine code can be made");
    assert_eq!(counts.reason(), Some("few calls are replayed".to_owned()));
}

#[test]
fn misses_are_counted_by_guard_and_no_more_guards_than_are_told_apart() {
    let counts = Counts::default();
    for step in 0..400 {
        (0..3).for_each(|_| counts.missed(step, || format!("truth of {}", step % 2)));
    }
    let misses = counts.statistics(Address::ZERO, Address::ZERO, [0; 4]).misses;
    let wanted = [("truth of 0".to_owned(), 3 * 128), ("truth of 1".to_owned(), 3 * 128)];
    assert_eq!(misses.into_iter().collect::<Vec<_>>(), wanted);
}
