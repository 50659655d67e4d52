//! Accounts × scenarios on a device: all outputs of every row, or their sums over accounts.

use super::Device;
use crate::native::ptx::{Program, emulator::Argument};

/// Rows of one launch whose outputs are stored.
const ROWS: usize = 1 << 22;
/// Rows of one launch that adds up.
const ADDED: usize = 1 << 31;
/// Rows whose guards fail that are named; of more only the count is known.
const FAILURES: usize = 1 << 20;

/// Rows of words, each four limbs, one behind the other.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub limbs: &'a [u64],
    pub width: usize,
    pub count: usize,
}

impl Table<'_> {
    fn planes(&self, wanted: impl Iterator<Item = usize>) -> Vec<u64> {
        let mut planes = Vec::new();
        for at in wanted {
            planes.extend((0..self.count).map(|row| self.limbs[row * self.width + at]));
        }
        planes
    }
}

/// What to run on which rows.
pub struct Job<'a> {
    pub program: &'a Program,
    /// The input that each column of the scenarios is.
    pub scenario_words: &'a [u32],
    pub accounts: Table<'a>,
    pub scenarios: Table<'a>,
}

/// Sums of every scenario, plane by plane, and the rows that they lack.
pub struct Totals {
    pub planes: Vec<u64>,
    pub failed: Vec<u64>,
    pub failures: u64,
}

fn number(count: usize) -> Argument {
    Argument::Number(count as u32)
}

impl Job<'_> {
    fn tables(&self, device: &mut Device) -> Result<[Argument; 2], String> {
        let planes = &self.program.planes;
        let column = |at: &u32| {
            let column = self.scenario_words.iter().position(|word| *word == at / 4).unwrap_or_default();
            4 * column + *at as usize % 4
        };
        let accounts = self.accounts.planes(planes.accounts.iter().map(|at| *at as usize));
        let scenarios = self.scenarios.planes(planes.scenarios.iter().map(column));
        Ok([device.upload(&accounts)?, device.upload(&scenarios)?])
    }

    fn table_words(&self) -> usize {
        let planes = &self.program.planes;
        planes.accounts.len() * self.accounts.count + planes.scenarios.len() * self.scenarios.count
    }

    fn counted(&self) -> Result<usize, String> {
        let rows = self.accounts.count.checked_mul(self.scenarios.count).filter(|rows| *rows < 1 << 32);
        rows.ok_or_else(|| "more than four billion rows in one run; take fewer scenarios at a time".to_owned())
    }

    /// Run every row: `flags[row]` and `outputs[row · width + limb]`, rows of the first scenario first.
    pub fn rows(&self, device: &mut Device, repeats: usize, width: usize) -> Result<(Vec<u8>, Vec<u64>), String> {
        let (all, planes) = (self.counted()?, &self.program.planes.outputs);
        let most = all.min(ROWS);
        device.require(self.table_words() + most * (planes.len() + 1))?;
        let [accounts, scenarios] = self.tables(device)?;
        let (outputs, flags) = (device.zeros(planes.len() * most)?, device.zeros(most.div_ceil(2))?);
        let (mut found_flags, mut found) = (vec![0; all], vec![0; all * width]);
        for first in (0..all).step_by(most.max(1)) {
            let count = most.min(all - first);
            let counts = [self.accounts.count, self.scenarios.count, first, count].map(number);
            let given: Vec<Argument> = [accounts, scenarios, outputs, flags].into_iter().chain(counts).collect();
            for _ in 0..repeats.max(1) {
                device.launch(&self.program.rows, "rows", count as u64, &given)?;
            }
            let words = device.download(flags, count.div_ceil(2))?;
            for (row, flag) in found_flags[first..first + count].iter_mut().enumerate() {
                *flag = (words[row / 2] >> (32 * (row % 2))) as u8;
            }
            let words = device.download(outputs, planes.len() * count)?;
            for (plane, at) in words.chunks_exact(count).zip(planes) {
                let rows = found[first * width..(first + count) * width].chunks_exact_mut(width);
                rows.zip(plane).for_each(|(row, limb)| row[*at as usize] = *limb);
            }
        }
        Ok((found_flags, found))
    }

    /// Add up over accounts. Rows whose guards fail are `named`, or merely left out.
    pub fn totals(&self, device: &mut Device, named: bool) -> Result<Totals, String> {
        let capacity = if named { FAILURES } else { 0 };
        let size = 2 + self.program.sums.iter().map(|sum| sum.limbs).sum::<usize>();
        let (accounts, scenarios) = (self.accounts.count, self.scenarios.count);
        if accounts.max(scenarios) >= 1 << 28 {
            return Err("more than 2^28 accounts or scenarios in one run; take fewer at a time".to_owned());
        }
        device.require(self.table_words() + size * scenarios + capacity)?;
        let tables = self.tables(device)?;
        let (sums, failed, failures) = (device.zeros(size * scenarios)?, device.zeros(capacity)?, device.zeros(1)?);
        let step = (ADDED / scenarios.max(1)).max(1);
        for first in (0..accounts).step_by(step) {
            let counts = [accounts, scenarios, first, accounts.min(first + step), capacity].map(number);
            let places = [tables[0], tables[1], sums, failed, failures];
            let given: Vec<Argument> = places.into_iter().chain(counts).collect();
            device.launch(&self.program.reduce, "reduce", scenarios as u64, &given)?;
        }
        let failures = device.download(failures, 1)?[0];
        let mut rows = device.download(failed, capacity.min(failures as usize))?;
        rows.sort_unstable();
        Ok(Totals { planes: device.download(sums, size * scenarios)?, failed: rows, failures })
    }
}
