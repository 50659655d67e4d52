//! Running a program on some rows, by one thread.

use std::sync::{Arc, Mutex, PoisonError};

use revm::primitives::U256;

use super::{
    float_arrays::{self, Bytes32, Piece, Taken},
    portable::word_to_float,
    program::Program,
};
use crate::{
    machine::{Failure, Settings, with_row},
    native::processor::row_loop::SIDE_BY_SIDE,
    specialise::{Runner, RunningRow, SelfCheck, Specialiser, self_check::OF_MANY},
    storage::{overlay::Row, world::World},
};

/// Rows that a thread takes at once, and where their outputs go.
pub struct Job<'a, 'row> {
    pub first: usize,
    pub rows: &'a mut [&'row mut Row],
    pub words: &'a mut [Bytes32],
    pub rounded: &'a mut [f64],
    pub pieces: Vec<Piece<'a>>,
}

/// A program with the inputs of all rows, which every thread has.
pub struct Work<'a> {
    pub program: &'a Program,
    pub settings: &'a Settings,
    pub specialiser: Option<&'a Specialiser>,
    pub probe: bool,
    /// Words of all rows, one row behind the other.
    pub words: &'a [Bytes32],
    pub floats: &'a [Taken<'a>],
    /// Which inputs and outputs of the program are words.
    pub word_inputs: Vec<usize>,
    pub word_outputs: Vec<usize>,
    pub self_check: SelfCheck,
    /// The number of the first row's run among all of the fleet.
    pub first_run: u64,
    /// Rows that failed.
    pub failures: Mutex<Vec<(usize, Failure)>>,
}

impl Work<'_> {
    /// Run the program on the rows of a job, as many as fit side by side.
    pub fn run(&self, world: &Arc<World>, job: &mut Job<'_, '_>) {
        let mut runner = self.specialiser.map(Runner::new);
        runner.iter_mut().for_each(|runner| runner.prepare(self.program));
        let (taken, told) = (self.program.input_count(), self.program.output_count());
        let mut inputs = vec![[0; 32]; SIDE_BY_SIDE * taken];
        let mut outputs = vec![[0; 32]; SIDE_BY_SIDE * told];
        let mut registers = Vec::new();
        for start in (0..job.rows.len()).step_by(SIDE_BY_SIDE) {
            let end = job.rows.len().min(start + SIDE_BY_SIDE);
            job.rows[end..].iter().take(SIDE_BY_SIDE).for_each(|next| next.overlay.plane.fetch_ahead());
            for (at, row) in job.rows[start..end].iter_mut().enumerate() {
                self.take(job.first + start + at, &mut inputs[at * taken..][..taken]);
                row.begin_run();
            }
            let count = end - start;
            let checked: [bool; SIDE_BY_SIDE] = std::array::from_fn(|at| self.is_checked(job.first + start + at));
            let mut done = [false; SIDE_BY_SIDE];
            if let Some(runner) = runner.as_mut()
                && !checked.contains(&true)
            {
                let (given, places) = (inputs[..count * taken].as_flattened(), &mut outputs[..count * told]);
                done = runner.run_at_once(self.program, &mut job.rows[start..end], given, places.as_flattened_mut());
            }
            for (at, done) in done.into_iter().enumerate().take(count) {
                let (inputs, outputs) = (&inputs[at * taken..][..taken], &mut outputs[at * told..][..told]);
                if !done {
                    runner.iter_mut().for_each(|runner| runner.checked = checked[at]);
                    let mut alone = Alone { world, runner: runner.as_mut(), registers: &mut registers };
                    if let Err(failure) = self.run_alone(&mut alone, job.rows[start + at], inputs, outputs) {
                        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
                        failures.push((job.first + start + at, failure));
                    }
                }
                self.give(job, start + at, outputs);
            }
        }
    }

    /// Whether what the row replays is interpreted too.
    fn is_checked(&self, row: usize) -> bool {
        self.specialiser.is_some() && self.self_check.picks(self.first_run + row as u64, 0, OF_MANY)
    }

    /// Write the inputs of a row where its program reads them.
    fn take(&self, row: usize, inputs: &mut [Bytes32]) {
        let given = &self.words[row * self.word_inputs.len()..];
        self.word_inputs.iter().zip(given).for_each(|(to, word)| inputs[*to] = *word);
        float_arrays::take(self.floats, row, inputs);
    }

    /// Run the program's operations on one row.
    fn run_alone(
        &self,
        with: &mut Alone<'_, '_>,
        row: &mut Row,
        inputs: &[Bytes32],
        outputs: &mut [Bytes32],
    ) -> Result<(), Failure> {
        with_row(with.world, row, self.settings, self.probe, |machine, block| {
            let (inputs, outputs) = (inputs.as_flattened(), outputs.as_flattened_mut());
            let mut row = RunningRow { machine, block, inputs, registers: with.registers, outputs };
            match &mut with.runner {
                Some(runner) => runner.run(self.program, &mut row),
                None => row.operate(self.program, None),
            }
        })
    }

    /// Copy the outputs of a row of a job to their arrays.
    fn give(&self, job: &mut Job<'_, '_>, row: usize, outputs: &[Bytes32]) {
        let from = row * self.word_outputs.len();
        let places = job.words[from..].iter_mut().zip(&mut job.rounded[from..]);
        for ((word, float), from) in places.zip(&self.word_outputs) {
            (*word, *float) = (outputs[*from], word_to_float(&outputs[*from]));
        }
        job.pieces.iter_mut().for_each(|piece| piece.put(row, outputs));
    }
}

/// What a thread has at hand for rows that run alone.
struct Alone<'a, 'b> {
    world: &'a Arc<World>,
    runner: Option<&'a mut Runner<'b>>,
    registers: &'a mut Vec<U256>,
}
