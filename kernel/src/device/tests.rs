//! What runs on a device, on the emulator: tables become planes and come back, chains only grow, rows are kept whole.

use revm::{
    primitives::{Address, U256},
    state::AccountInfo,
};

use super::{
    Device,
    job::{Job, Table},
    layout::{Chain, Given, Kept, Wiring},
    rows::{self, Ground},
};
use crate::{
    machine::Failure,
    native::{
        ptx::{Program as Kernels, Sum, emulator::Argument, step::Space, step::Style},
        samples::{Samples, seeds},
        ssa::{ir::Function, plan::Plan, reference::evaluate},
    },
    rows::program::Program,
    storage::overlay::Row,
    test_world::{address, on, row, settings, world},
    trace::BlockField,
};

fn emulated() -> Device {
    Device::open("emulated").expect("it is part of the kernel")
}

#[test]
fn a_device_that_there_is_not_is_refused_by_its_name() {
    for name in ["", "gpu", "cuda:", "cuda:x", "Cuda"] {
        let error = Device::open(name).err().expect("no device");
        assert_eq!(error, format!("there is no device '{name}'; it is one of: cuda, cuda:0 and so on, emulated"));
    }
}

#[test]
fn what_is_uploaded_comes_back() {
    let mut device = emulated();
    let words: Vec<u64> = (0..100).map(|at| at * 0x0101_0101_0101_0101).collect();
    let first = device.upload(&words).expect("room");
    let second = device.upload(&[7]).expect("room");
    let zeros = device.zeros(3).expect("room");
    assert_eq!(device.download(first, 100), Ok(words.clone()));
    assert_eq!(device.download(first, 10), Ok(words[..10].to_vec()));
    assert_eq!(device.download(second, 1), Ok(vec![7]));
    assert_eq!(device.download(zeros, 3), Ok(vec![0; 3]));
}

#[test]
fn a_kernel_reaches_only_what_it_was_given() {
    let function = Samples::new(3).function(2, 4);
    let plan = Plan::new(&function, &[]).expect("well-formed");
    let kernels = Kernels::new(&plan, &[], &[]).expect("it can be printed");
    let mut device = emulated();
    let nowhere = Argument::Place(1 << 60);
    let counts = [1, 1, 0, 1].map(Argument::Number);
    let given: Vec<Argument> = [nowhere; 4].into_iter().chain(counts).collect();
    let error = device.launch(&kernels.rows, "rows", 1, &given).expect_err("nothing is there");
    assert!(error.starts_with("nothing is at 0x1"), "{error}");
}

/// Random accounts and scenarios of a function, whose inputs 1 and 3 are those of the scenario.
struct Grid {
    function: Function,
    kernels: Kernels,
    accounts: Vec<Vec<U256>>,
    scenarios: Vec<[U256; 2]>,
}

const SCENARIO: [u32; 2] = [1, 3];
const SUMS: [Sum; 2] = [Sum { output: 0, limbs: 4 }, Sum { output: 1, limbs: 2 }];

impl Grid {
    fn new(seed: u64) -> Self {
        let mut samples = Samples::new(seed);
        let function = samples.function(4, 3 + seed as usize % 20);
        let plan = Plan::new(&function, &[]).expect("well-formed");
        let kernels = Kernels::new(&plan, &SCENARIO, &SUMS).expect("it can be printed");
        let accounts = (0..9).map(|_| samples.row(4)).collect();
        let scenarios = (0..4).map(|_| [(); 2].map(|()| samples.word())).collect();
        Self { function, kernels, accounts, scenarios }
    }

    /// The outputs of an account in a scenario.
    fn expected(&self, scenario: usize, account: usize) -> Option<Vec<U256>> {
        let mut row = self.accounts[account].clone();
        SCENARIO.iter().zip(self.scenarios[scenario]).for_each(|(at, word)| row[*at as usize] = word);
        evaluate(&self.function, &row, &mut Vec::new())
    }

    fn each(&self) -> impl Iterator<Item = (usize, Option<Vec<U256>>)> {
        let count = self.accounts.len();
        (0..count * self.scenarios.len()).map(move |at| (at, self.expected(at / count, at % count)))
    }

    fn on<R>(&self, f: impl FnOnce(&Job<'_>) -> R) -> R {
        let limbs = |words: &[U256]| words.iter().flat_map(|word| *word.as_limbs()).collect::<Vec<u64>>();
        let accounts: Vec<u64> = self.accounts.iter().flat_map(|row| limbs(row)).collect();
        let scenarios: Vec<u64> = self.scenarios.iter().flat_map(|row| limbs(row)).collect();
        f(&Job {
            program: &self.kernels,
            scenario_words: &SCENARIO,
            accounts: Table { limbs: &accounts, width: 16, count: self.accounts.len() },
            scenarios: Table { limbs: &scenarios, width: 8, count: self.scenarios.len() },
        })
    }
}

#[test]
fn every_account_meets_every_scenario() {
    let mut accepted = 0;
    for seed in seeds(12) {
        let grid = Grid::new(seed);
        let width = 4 * grid.function.outputs.len();
        let (flags, outputs) = grid.on(|job| job.rows(&mut emulated(), 2, width)).expect("it runs");
        for (at, expected) in grid.each() {
            let found = outputs[at * width..(at + 1) * width].chunks(4).map(U256::from_limbs_slice).collect();
            assert_eq!((flags[at] == 1).then_some(found), expected, "seed {seed}, row {at}");
            accepted += usize::from(expected.is_some());
        }
    }
    assert!(accepted > 50, "{accepted} rows were accepted");
}

#[test]
fn sums_over_accounts_lack_the_rows_whose_guards_fail() {
    for seed in seeds(12) {
        let grid = Grid::new(seed);
        let named = grid.on(|job| job.totals(&mut emulated(), true)).expect("it runs");
        let silent = grid.on(|job| job.totals(&mut emulated(), false)).expect("it runs");
        let failed: Vec<u64> = grid.each().filter(|(_, row)| row.is_none()).map(|(at, _)| at as u64).collect();
        assert_eq!((&named.failed, named.failures), (&failed, failed.len() as u64), "seed {seed}");
        assert_eq!((silent.failed, silent.failures), (Vec::new(), 0), "seed {seed}: they are merely left out");
        assert_eq!(silent.planes, named.planes, "seed {seed}");
        let (scenarios, accounts) = (grid.scenarios.len(), grid.accounts.len());
        for scenario in 0..scenarios {
            let rows: Vec<_> = (0..accounts).filter_map(|account| grid.expected(scenario, account)).collect();
            let plane = |at: usize| named.planes[at * scenarios + scenario];
            assert_eq!(plane(0), rows.len() as u64, "seed {seed}: accepted rows come first, then the digest");
            for (at, (sum, first)) in SUMS.iter().zip([2, 6]).enumerate() {
                let total = rows.iter().fold(U256::ZERO, |all, row| all.wrapping_add(row[sum.output]));
                let limbs: Vec<u64> = (first..first + sum.limbs).map(plane).collect();
                assert_eq!(limbs, total.as_limbs()[..sum.limbs], "seed {seed}, sum {at}");
            }
        }
    }
}

#[test]
fn a_chain_keeps_what_it_has_placed_where_it_is() {
    let slot = |number: u32| Kept::Slot(number, address(1), U256::from(number));
    let mut chain = Chain::new();
    assert_eq!(chain.planes(), 3, "number, time and base fee");
    let wanted = [slot(7), Kept::Nonce(address(2)), slot(9), Kept::Balance(address(3))];
    let places = wanted.map(|kept| chain.place(kept));
    assert_eq!(places.map(|planes| (planes.first, planes.width)), [(3, 4), (7, 1), (8, 4), (12, 4)]);
    assert!(places.iter().all(|planes| planes.space == Space::Kept));
    for (kept, planes) in wanted.iter().zip(places) {
        assert_eq!(chain.place(*kept).first, planes.first, "placed once");
    }
    assert_eq!(chain.place(Kept::Block(BlockField::Timestamp)).first, 1);
    assert_eq!(chain.planes(), 16);
    assert!(chain.has_slot(address(1), U256::from(9)));
    assert!(!chain.has_slot(address(2), U256::from(9)));
}

#[test]
fn what_came_up_since_a_plane_is_what_lies_behind_it() {
    let mut chain = Chain::new();
    let [first, second] = [Kept::Nonce(address(1)), Kept::Slot(0, address(1), U256::ONE)];
    let before = chain.planes();
    chain.place(first);
    let between = chain.planes();
    chain.place(second);
    assert_eq!(chain.since(before), [first, second]);
    assert_eq!(chain.since(between), [second]);
    assert_eq!(chain.since(chain.planes()), []);
    assert_eq!(chain.since(0), chain.all);
}

fn two_way() -> Program {
    let mut program = Program::new(true);
    let word = program.input("amount".into()).expect("a name");
    program.input("price".into()).expect("a name");
    program.output("told".into(), word.into()).expect("a name");
    program
}

fn wired(given: &[(&str, u32)], fixed: &[(&str, u64)], outputs: &[(&str, &str)]) -> Result<Wiring, String> {
    let given: Vec<_> = given.iter().map(|(name, first)| ((*name).to_owned(), *first, 4)).collect();
    let fixed: Vec<_> = fixed.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let outputs: Vec<_> = outputs.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned(), 5, 4)).collect();
    Wiring::new(&two_way(), &given, &fixed, &outputs, Style::default())
}

#[test]
fn every_input_of_a_program_is_given_or_fixed() {
    let wiring = wired(&[("amount", 8)], &[("price", 3)], &[("told", "single")]).expect("it is complete");
    assert!(matches!(wiring.inputs[0], Given::Source(_)));
    assert!(matches!(wiring.inputs[1], Given::Fixed(3)));
    assert_eq!((wiring.outputs[0].len(), wiring.columns), (1, 6));
    let refused = |wiring: Result<Wiring, String>| wiring.err().expect("it is not complete");
    assert_eq!(refused(wired(&[("amount", 0)], &[], &[])), "an input of the program is not given");
    assert_eq!(refused(wired(&[("amonut", 0)], &[], &[])), "the program has no input 'amonut'");
    assert_eq!(refused(wired(&[], &[("prize", 0)], &[])), "the program has no input 'prize'");
    let given = [("amount", 0), ("price", 4)];
    assert_eq!(refused(wired(&given, &[], &[("tald", "word")])), "the program has no output 'tald'");
    assert_eq!(refused(wired(&given, &[], &[("told", "double")])), "an output is no 'double'");
}

const HOLDER: u8 = 0xaa;

/// A row whose block, nonces and slots are not those at the start.
fn moved() -> Row {
    let mut moved = row();
    let world = ground_world();
    on(&world, &mut moved, |machine, block| {
        (block.number, block.timestamp, block.basefee) = (U256::from(77), U256::from(88), 99);
        machine.write_slot(address(HOLDER), U256::ONE, U256::MAX - U256::from(5))?;
        let info = machine.read_info(address(HOLDER))?;
        machine.overlay().set_info(address(HOLDER), AccountInfo { nonce: 12, ..info });
        Ok(())
    })
    .expect("written");
    moved
}

fn ground_world() -> std::sync::Arc<crate::storage::world::World> {
    world(&[(address(HOLDER), &[0x5b], &[(1, 10), (2, 20)])])
}

fn kept() -> [Kept; 6] {
    let slot = |number: u32, key: u64| Kept::Slot(number, address(HOLDER), U256::from(key));
    let [number, time, fee] = [BlockField::Number, BlockField::Timestamp, BlockField::BaseFee].map(Kept::Block);
    [number, time, fee, Kept::Nonce(address(HOLDER)), slot(0, 1), slot(1, 2)]
}

#[test]
fn a_row_is_read_and_written_limb_by_limb() {
    let (world, settings) = (ground_world(), settings());
    let ground = Ground { world: &world, settings: &settings };
    let mut limbs = Vec::new();
    rows::read(ground, &mut moved(), &kept(), &mut limbs).expect("it is known");
    assert_eq!(limbs, [77, 88, 99, 12, u64::MAX - 5, u64::MAX, u64::MAX, u64::MAX, 20, 0, 0, 0]);
    let (mut other, mut again) = (row(), Vec::new());
    rows::write(ground, &mut other, &kept(), &limbs).expect("it is kept");
    rows::read(ground, &mut other, &kept(), &mut again).expect("it is known");
    assert_eq!(again, limbs);
    let slot = on(&world, &mut other, |machine, _| machine.read_slot(address(HOLDER), U256::ONE)).expect("a slot");
    assert_eq!(slot, U256::MAX - U256::from(5), "whoever else reads the row sees it");
}

#[test]
fn a_block_beyond_64_bits_has_no_place_on_a_device() {
    let (world, settings) = (ground_world(), settings());
    let mut row = row();
    row.block.timestamp = U256::from(u64::MAX) + U256::ONE;
    let found = rows::read(Ground { world: &world, settings: &settings }, &mut row, &kept(), &mut Vec::new());
    assert!(matches!(found, Err(Failure::Internal(text)) if text == "the time of a row has more than 64 bits"));
}

#[test]
fn what_a_row_has_changed_beside_the_device_is_found() {
    let (world, settings) = (ground_world(), settings());
    let ground = Ground { world: &world, settings: &settings };
    let strays = |chain: &Chain, row: &mut Row| rows::strays(ground, chain, &mut self::row(), row);
    let mut chain = Chain::new();
    let mut found = strays(&chain, &mut moved()).expect("such changes can be kept");
    found.sort_unstable();
    assert_eq!(found, [(address(HOLDER), None), (address(HOLDER), Some(U256::ONE))]);
    kept().into_iter().for_each(|kept| _ = chain.place(kept));
    assert_eq!(strays(&chain, &mut moved()).expect("all is kept"), Vec::<(Address, Option<U256>)>::new());
    let mut rich = moved();
    let made_rich = on(&world, &mut rich, |machine, _| {
        let info = machine.read_info(address(HOLDER))?;
        machine.overlay().set_info(address(HOLDER), AccountInfo { balance: U256::ONE, ..info });
        Ok(())
    });
    made_rich.expect("written");
    assert!(
        matches!(strays(&chain, &mut rich), Err(Failure::Internal(text)) if text.contains("a device does not keep"))
    );
}
