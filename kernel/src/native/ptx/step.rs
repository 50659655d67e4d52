//! The kernel that runs a tree of paths on rows whose state lies in the device's memory, and changes it in place.
//!
//! A row that comes to a leaf writes what the leaf leaves; one whose guards fail writes nothing but its number.

use std::collections::HashMap;

use revm::primitives::U256;

use super::{
    HEAD,
    assembler::{Assembler, Half, Predicate},
    floats,
    functions::{Functions, Unsupported},
    printer::{Frame, Printer},
    rows::{Table, entry, number, place, thread},
};
use crate::{
    native::{
        lowering::{
            float_steps::FloatStep,
            limbs::{Instruction, Limb, ZERO},
            lower::lower_in_turn,
        },
        ssa::plan::Plan,
    },
    rows::portable::power_of_two,
};

/// Planes of limbs: what a step is given and hands back, or what a row keeps of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Given,
    Kept,
}

/// A word in neighbouring planes, one for each limb from the lowest on; limbs beyond are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    pub space: Space,
    pub first: u32,
    pub width: u32,
}

/// Where a word is: always there, or the number of an index further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Planes(Planes),
    /// Words of four limbs among those kept, from this plane on.
    Indexed {
        index: usize,
        first: u32,
    },
}

impl Source {
    fn width(self) -> u32 {
        match self {
            Self::Planes(planes) => planes.width,
            Self::Indexed { .. } => 4,
        }
    }
}

/// What an index can be: `count` numbers from `base` on, alike above the lowest limb. A row with another one is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    pub base: U256,
    pub count: u64,
}

/// A word that a leaf leaves: one that the function makes, or the same on every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Made(u32),
    Fixed(U256),
}

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Word(Source),
    /// As a float of 64 bits, in a plane of what is given.
    Rounded(u32),
    /// A float in 32 bits, in this column of the row's singles.
    Single(u32),
}

/// What happens at the end of one path.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    pub stores: Vec<(Left, Target)>,
    /// Planes of what is kept, and what is added to them.
    pub added: Vec<(u32, u64)>,
}

/// A tree of paths as a step of rows.
pub struct Step<'a> {
    /// Where each input of the function is.
    pub inputs: &'a [Source],
    /// The outputs of a plan that is computed first.
    pub indexes: &'a [Index],
    /// By leaf.
    pub endings: &'a [Ending],
    /// Singles of a row.
    pub columns: u32,
    pub style: Style,
}

/// How a kernel is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Most registers of a thread; as many as it needs where this is zero.
    pub registers: u32,
    /// Products of at least so many halves of limbs are calls; none are where this is zero.
    pub called_products: usize,
}

/// Which rows a kernel takes, and what becomes of those whose guards fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// All that wait for no one; others are left to the processor.
    Only = 0,
    /// The same, but others are left to another kernel.
    First = 1,
    /// Those that the first kernel left out of this part.
    Second = 2,
}

/// The kernel's parameters: places, then how many rows there are, the part of the step, and the tier.
const PARAMETERS: [(&str, &str); 11] = [
    ("u64", "given"),
    ("u64", "kept"),
    ("u64", "singles"),
    ("u64", "left"),
    ("u64", "counter"),
    ("u64", "order"),
    ("u64", "leaves"),
    ("u64", "parts"),
    ("u32", "count"),
    ("u32", "part"),
    ("u32", "tier"),
];

struct Row<'a> {
    step: &'a Step<'a>,
    given: Table,
    kept: Table,
    /// Where the singles of this row begin, and where the number of its leaf goes.
    singles: Limb,
    leaf: Limb,
    /// Where the part stands that it was left out of, and whether it was left out of this one.
    part: Limb,
    is_second: Predicate,
    made: HashMap<u32, Limb>,
    /// How far each index is beyond its base.
    indexes: Vec<Half>,
}

impl Row<'_> {
    fn table(&self, space: Space) -> Table {
        match space {
            Space::Given => self.given,
            Space::Kept => self.kept,
        }
    }

    /// Where a limb is.
    fn place(&self, out: &mut Assembler, source: Source, limb: u32) -> Limb {
        match source {
            Source::Planes(planes) => self.table(planes.space).at(out, (planes.first + limb) as usize),
            Source::Indexed { index, first } => {
                let plane = out.half("mad.lo.u32", &[&self.indexes[index], &4, &(first + limb)]);
                out.limb("mad.wide.u32", &[&self.kept.step, &plane, &self.kept.own])
            }
        }
    }

    fn limb(&self, left: Left, limb: u32) -> Limb {
        match left {
            Left::Made(at) => self.made.get(&(4 * at + limb)).copied().unwrap_or(ZERO),
            Left::Fixed(value) => Limb::Known(value.as_limbs()[limb as usize]),
        }
    }

    fn store(&self, out: &mut Assembler, left: Left, target: Target) {
        match target {
            Target::Word(source) => {
                for limb in 0..source.width() {
                    let (at, value) = (self.place(out, source, limb), out.register(self.limb(left, limb)));
                    out.line(format_args!("st.global.b64 [{at}], {value}"));
                }
            }
            Target::Rounded(plane) => {
                let rounded = rounded(out, [0, 1, 2, 3].map(|limb| self.limb(left, limb)));
                self.given.store(out, plane as usize, rounded);
            }
            Target::Single(column) => {
                let float = out.register(self.limb(left, 0));
                let single = out.half("cvt.rn.f32.f64", &[&float]);
                let at = out.limb("add.u64", &[&self.singles, &(4 * column)]);
                out.line(format_args!("st.global.b32 [{at}], {single}"));
            }
        }
    }
}

/// A word as a float: what the limbs are, from the highest on.
fn rounded(out: &mut Assembler, limbs: [Limb; 4]) -> Limb {
    let mut sum = None;
    for (at, limb) in limbs.into_iter().enumerate().rev().filter(|(at, limb)| *at == 0 || *limb != ZERO) {
        let mut part = floats::print(out, FloatStep::OfUnsigned, limb, ZERO);
        if at > 0 {
            let power = Limb::Known(power_of_two(64 * at as i32).to_bits());
            part = floats::print(out, FloatStep::Multiply, part, power);
        }
        sum = Some(match sum {
            Some(sum) => floats::print(out, FloatStep::Add, sum, part),
            None => part,
        });
    }
    sum.unwrap_or(ZERO)
}

impl Frame for Row<'_> {
    fn load(&mut self, out: &mut Assembler, at: u32) -> Limb {
        let (source, limb) = (self.step.inputs[at as usize / 4], at % 4);
        if limb >= source.width() {
            return out.register(ZERO);
        }
        let place = self.place(out, source, limb);
        out.limb("ld.global.b64", &[&format_args!("[{place}]")])
    }

    fn store(&mut self, _: &mut Assembler, at: u32, value: Limb) {
        self.made.insert(at, value);
    }

    fn end(&mut self, out: &mut Assembler, leaf: u8, failed: Limb) {
        let Some(ending) = usize::from(leaf).checked_sub(1).and_then(|at| self.step.endings.get(at)) else {
            return out.branch(LEFT);
        };
        if failed != ZERO {
            let failed = out.is_set(failed);
            out.branch_if(failed, LEFT);
        }
        for (left, target) in &ending.stores {
            Self::store(self, out, *left, *target);
        }
        for (plane, by) in &ending.added {
            let before = self.kept.load(out, *plane as usize, "ld.global.b64");
            let after = out.limb("add.u64", &[&before, by]);
            self.kept.store(out, *plane as usize, after);
        }
        let number = out.half("mov.b32", &[&leaf]);
        out.line(format_args!("st.global.b32 [{}], {number}", self.leaf));
        let none = out.half("mov.b32", &[&0]);
        out.line(format_args!("@{} st.global.b32 [{}], {none}", self.is_second, self.part));
        out.line(format_args!("ret"));
        self.made.clear();
    }
}

/// Where rows go whose guards fail.
const LEFT: &str = "left_out";

/// Print the kernel `step` of a plan; `first` computes its indexes.
pub fn print(first: &Plan, plan: &Plan, step: &Step<'_>) -> Result<String, Unsupported> {
    let (before, lowered) = lower_in_turn(first, plan);
    let mut functions = Functions::new(lowered.texts.clone());
    let mut out = Assembler::after(lowered.writer.values);
    let (index, count) = (thread(&mut out), number(&mut out, "count"));
    let beyond = out.test("setp.ge.u32", &[&index, &count]);
    out.line(format_args!("@{beyond} ret"));
    let row = ordered(&mut out, index);
    let (own_part, tier, part) = (part_of(&mut out, row), number(&mut out, "tier"), number(&mut out, "part"));
    let is_second = out.test("setp.eq.u32", &[&tier, &(Tier::Second as u32)]);
    let taken = out.half("selp.b32", &[&part, &0, &is_second]);
    let waits = out.half("ld.global.b32", &[&format_args!("[{own_part}]")]);
    let waits = out.test("setp.ne.u32", &[&waits, &taken]);
    out.line(format_args!("@{waits} ret"));
    let (singles, leaves) = (place(&mut out, "singles"), place(&mut out, "leaves"));
    let frame = Row {
        step,
        given: Table::new(&mut out, "given", row, count),
        kept: Table::new(&mut out, "kept", row, count),
        singles: out.limb("mad.wide.u32", &[&row, &(4 * step.columns), &singles]),
        leaf: out.limb("mad.wide.u32", &[&row, &4, &leaves]),
        part: own_part,
        is_second,
        made: HashMap::new(),
        indexes: Vec::new(),
    };
    let leaf = frame.leaf;
    let mut printer = Printer::over(out, frame, &mut functions, lowered.writer.values);
    printer.called_products = step.style.called_products;
    compute_indexes(&mut printer, &before)?;
    printer.print(&lowered.writer.code)?;
    let mut out = printer.out;
    out.place(LEFT);
    let none = out.half("mov.b32", &[&0]);
    out.line(format_args!("st.global.b32 [{leaf}], {none}"));
    out.line(format_args!("st.global.b32 [{own_part}], {part}"));
    let is_first = out.test("setp.eq.u32", &[&tier, &(Tier::First as u32)]);
    out.line(format_args!("@{is_first} ret"));
    let (list, counter) = (place(&mut out, "left"), place(&mut out, "counter"));
    let at = out.half("atom.global.add.u32", &[&format_args!("[{counter}]"), &1]);
    let into = out.limb("mad.wide.u32", &[&at, &4, &list]);
    out.line(format_args!("st.global.b32 [{into}], {row}"));
    out.line(format_args!("ret"));
    let mut kernel = entry("step", &PARAMETERS, &out.body());
    if step.style.registers > 0 {
        kernel = kernel.replacen("\n)\n{", &format!("\n)\n.maxnreg {}\n{{", step.style.registers), 1);
    }
    Ok(format!("{HEAD}{}{kernel}", functions.text()))
}

/// Print what indexes are, and leave the row out where one is too far.
fn compute_indexes(printer: &mut Printer<'_, Row<'_>>, code: &[Instruction]) -> Result<(), Unsupported> {
    let mut found = HashMap::new();
    for instruction in code {
        match instruction {
            Instruction::Store { at, value } => _ = found.insert(*at, printer.limb(*value)),
            Instruction::End(_) => {}
            other => printer.print(std::slice::from_ref(other))?,
        }
    }
    let indexes = printer.frame.step.indexes;
    for (at, index) in indexes.iter().enumerate() {
        let out = &mut printer.out;
        let limbs = [0, 1, 2, 3].map(|limb| found.get(&(4 * at as u32 + limb)).copied().unwrap_or(ZERO));
        let first = out.register(limbs[0]);
        let base = index.base.as_limbs().map(Limb::Known);
        let beyond = out.limb("sub.u64", &[&first, &base[0]]);
        let far = out.test("setp.ge.u64", &[&beyond, &index.count]);
        out.branch_if(far, LEFT);
        for (limb, base) in limbs[1..].iter().zip(&base[1..]).filter(|(limb, base)| limb != base) {
            let limb = out.register(*limb);
            let other = out.test("setp.ne.u64", &[&limb, base]);
            out.branch_if(other, LEFT);
        }
        let beyond = out.half("cvt.u32.u64", &[&beyond]);
        printer.frame.indexes.push(beyond);
    }
    Ok(())
}

/// Where the part of the step stands that a row was left out of; 0 for none. Such a row waits for the processor.
fn part_of(out: &mut Assembler, row: Half) -> Limb {
    let parts = place(out, "parts");
    out.limb("mad.wide.u32", &[&row, &4, &parts])
}

/// The row of this thread: its number, or what stands there in an order of all rows.
fn ordered(out: &mut Assembler, index: Half) -> Half {
    let (order, row) = (out.limb("ld.param.u64", &[&"[order]"]), out.half("mov.u32", &[&index]));
    let plain = out.label("plain");
    let none = out.test("setp.eq.u64", &[&order, &0]);
    out.branch_if(none, &plain);
    let order = out.limb("cvta.to.global.u64", &[&order]);
    let at = out.limb("mad.wide.u32", &[&index, &4, &order]);
    out.set_half(row, "ld.global.b32", &[&format_args!("[{at}]")]);
    out.place(&plain);
    row
}

/// Print the kernel `renew`: rows that ended become like an entry of a table of starts, and all rows' singles are
/// carried over. `renewed` are planes of what is given; all `kept` ones are.
pub fn print_renewal(renewed: &[u32], kept: u32, columns: u32) -> String {
    const NAMES: [(&str, &str); 11] = [
        ("u64", "given"),
        ("u64", "kept"),
        ("u64", "singles"),
        ("u64", "present"),
        ("u64", "starts_given"),
        ("u64", "starts_kept"),
        ("u64", "starts_singles"),
        ("u64", "ended"),
        ("u64", "entries"),
        ("u32", "count"),
        ("u32", "entry_count"),
    ];
    let mut out = Assembler::default();
    let (row, count) = (thread(&mut out), number(&mut out, "count"));
    let beyond = out.test("setp.ge.u32", &[&row, &count]);
    out.line(format_args!("@{beyond} ret"));
    let singles = |out: &mut Assembler, name: &str, row: Half| {
        let start = place(out, name);
        out.limb("mad.wide.u32", &[&row, &(4 * columns), &start])
    };
    let (ended, present) = (place(&mut out, "ended"), singles(&mut out, "present", row));
    let at = out.limb("mad.wide.u32", &[&row, &4, &ended]);
    let ended = out.half("ld.global.b32", &[&format_args!("[{at}]")]);
    let on = out.test("setp.eq.u32", &[&ended, &0]);
    out.branch_if(on, "goes_on");
    let entries = place(&mut out, "entries");
    let at = out.limb("mad.wide.u32", &[&row, &8, &entries]);
    let number_of_entry = out.limb("ld.global.b64", &[&format_args!("[{at}]")]);
    let start = out.half("cvt.u32.u64", &[&number_of_entry]);
    let all = number(&mut out, "entry_count");
    let pairs = [("given", "starts_given", renewed.to_vec()), ("kept", "starts_kept", (0..kept).collect())];
    for (into, from, planes) in pairs {
        let (into, from) = (Table::new(&mut out, into, row, count), Table::new(&mut out, from, start, all));
        for plane in planes {
            let value = from.load(&mut out, plane as usize, "ld.global.nc.b64");
            into.store(&mut out, plane as usize, value);
        }
    }
    let from = singles(&mut out, "starts_singles", start);
    copy_singles(&mut out, from, present, columns);
    out.place("goes_on");
    let from = singles(&mut out, "singles", row);
    copy_singles(&mut out, from, present, columns);
    format!("{HEAD}{}", entry("renew", &NAMES, &out.body()))
}

fn copy_singles(out: &mut Assembler, from: Limb, into: Limb, columns: u32) {
    for column in 0..columns {
        let [from, into] = [from, into].map(|start| out.limb("add.u64", &[&start, &(4 * column)]));
        let single = out.half("ld.global.b32", &[&format_args!("[{from}]")]);
        out.line(format_args!("st.global.b32 [{into}], {single}"));
    }
    out.line(format_args!("ret"));
}
