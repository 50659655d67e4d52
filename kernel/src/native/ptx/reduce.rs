//! The kernel that adds up over accounts: one thread a scenario, so that nothing of the size of all rows is stored.
//!
//! What depends on the scenario alone is computed once, before the loop over accounts.

use super::{
    Planes, Sum,
    assembler::{Assembler, Half},
    functions::{Functions, Unsupported},
    limbs_of,
    printer::{Frame, Printer},
    rows::{Table, entry, number, place, thread},
};
use crate::native::lowering::{
    limbs::{Instruction, Limb, ZERO},
    lower::Lowered,
};

const PARAMETERS: [(&str, &str); 10] = [
    ("u64", "accounts"),
    ("u64", "scenarios"),
    ("u64", "sums"),
    ("u64", "failed"),
    ("u64", "failures"),
    ("u32", "account_count"),
    ("u32", "scenario_count"),
    ("u32", "first"),
    ("u32", "last"),
    ("u32", "capacity"),
];

/// What a limb of the outputs is multiplied with in a row's digest.
pub fn weight(at: u32) -> u64 {
    let mut mixed = (u64::from(at) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 31)) | 1
}

struct Loop<'a> {
    planes: &'a Planes,
    sums: &'a [Sum],
    accounts: Table,
    scenarios: Table,
    /// Accepted rows, their digest, then the limbs of each sum.
    totals: Vec<Limb>,
    digest: Limb,
    /// The limbs of the outputs that are added up.
    kept: Vec<(u32, Limb)>,
    failed: String,
    next: String,
}

impl Frame for Loop<'_> {
    fn load(&mut self, out: &mut Assembler, at: u32) -> Limb {
        let (scenario, plane) = self.planes.input(at);
        let table = if scenario { self.scenarios } else { self.accounts };
        table.load(out, plane, "ld.global.nc.b64")
    }

    fn store(&mut self, out: &mut Assembler, at: u32, value: Limb) {
        if value != ZERO {
            let value = out.register(value);
            self.digest = out.limb("mad.lo.u64", &[&value, &Limb::Known(weight(at)), &self.digest]);
            if self.sums.iter().any(|sum| sum.output == (at / 4) as usize) {
                self.kept.push((at, value));
            }
        }
    }

    fn end(&mut self, out: &mut Assembler, leaf: u8, failed: Limb) {
        let (digest, kept) = (std::mem::replace(&mut self.digest, ZERO), std::mem::take(&mut self.kept));
        if leaf == 0 {
            return out.branch(&self.failed);
        }
        if failed != ZERO {
            let failed = out.is_set(failed);
            out.branch_if(failed, &self.failed);
        }
        out.set(self.totals[0], "add.u64", &[&self.totals[0], &1]);
        let high = out.limb("shr.u64", &[&digest, &32]);
        let mixed = out.limb("xor.b64", &[&digest, &high]);
        out.set(self.totals[1], "mad.lo.u64", &[&mixed, &Limb::Known(weight(u32::MAX)), &self.totals[1]]);
        let mut first = 2;
        for sum in self.sums {
            let places = self.totals[first..first + sum.limbs].to_vec();
            let limb = |at: usize| {
                let wanted = (4 * sum.output + at) as u32;
                kept.iter().find(|(at, _)| *at == wanted).map_or(ZERO, |(_, limb)| *limb)
            };
            let limbs: Vec<Limb> = (0..sum.limbs).map(limb).collect();
            out.chain_into("add", &places, &places, &limbs, false);
            first += sum.limbs;
        }
        out.branch(&self.next);
    }
}

/// Which instructions depend on nothing but the scenario; those after a branch are left where they are.
fn split(code: &[Instruction], planes: &Planes, values: u32) -> (Vec<Instruction>, Vec<Instruction>) {
    let mut alone = vec![false; values as usize];
    code.iter().cloned().partition(|instruction| {
        let mut only = match instruction {
            Instruction::Load { at, .. } => planes.input(*at).0,
            Instruction::Store { .. } | Instruction::Branch { .. } | Instruction::End(_) => false,
            _ => true,
        };
        let mut written = Vec::new();
        limbs_of(
            instruction,
            |limb| only &= matches!(limb, Limb::Known(_)) || matches!(limb, Limb::Value(at) if alone[at as usize]),
            |into| written.push(into),
        );
        written.into_iter().for_each(|into| alone[into as usize] = only);
        only
    })
}

/// Print the kernel.
pub fn print(
    lowered: &Lowered,
    planes: &Planes,
    sums: &[Sum],
    functions: &mut Functions,
) -> Result<String, Unsupported> {
    let mut out = Assembler::after(lowered.writer.values);
    let (scenario, count) = (thread(&mut out), number(&mut out, "scenario_count"));
    let beyond = out.test("setp.ge.u32", &[&scenario, &count]);
    out.line(format_args!("@{beyond} ret"));
    let (accounts, first, last) =
        (number(&mut out, "account_count"), number(&mut out, "first"), number(&mut out, "last"));
    let account = out.half("mov.u32", &[&first]);
    let table = Table::new(&mut out, "sums", scenario, count);
    let size = 2 + sums.iter().map(|sum| sum.limbs).sum::<usize>();
    let totals: Vec<Limb> = (0..size).map(|plane| table.load(&mut out, plane, "ld.global.b64")).collect();
    let labels = ["head", "failed", "next", "done"].map(|name| out.label(name));
    let [head, failed, next, done] = &labels;
    let frame = Loop {
        planes,
        sums,
        accounts: Table::new(&mut out, "accounts", account, accounts),
        scenarios: Table::new(&mut out, "scenarios", scenario, count),
        totals: totals.clone(),
        digest: ZERO,
        kept: Vec::new(),
        failed: failed.clone(),
        next: next.clone(),
    };
    let own = frame.accounts.own;
    let (before, inside) = split(&lowered.writer.code, planes, lowered.writer.values);
    let mut printer = Printer::over(out, frame, functions, lowered.writer.values);
    printer.print(&before)?;
    printer.out.place(head);
    let finished = printer.out.test("setp.ge.u32", &[&account, &last]);
    printer.out.branch_if(finished, done);
    printer.print(&inside)?;
    let mut out = printer.out;
    note_failure(&mut out, [account, accounts, scenario], failed, next);
    out.place(next);
    out.set_half(account, "add.u32", &[&account, &1]);
    out.set(own, "add.u64", &[&own, &8]);
    out.branch(head);
    out.place(done);
    totals.iter().enumerate().for_each(|(plane, total)| table.store(&mut out, plane, *total));
    out.line(format_args!("ret"));
    Ok(entry("reduce", &PARAMETERS, &out.body()))
}

/// Put the number of a row whose guards fail behind those before it, while there is room; nothing where there is none.
fn note_failure(out: &mut Assembler, [account, accounts, scenario]: [Half; 3], label: &str, next: &str) {
    out.place(label);
    let capacity = number(out, "capacity");
    let none = out.test("setp.eq.u32", &[&capacity, &0]);
    out.branch_if(none, next);
    let (counter, list) = (place(out, "failures"), place(out, "failed"));
    let at = out.limb("atom.global.add.u64", &[&format_args!("[{counter}]"), &1]);
    let capacity = out.limb("cvt.u64.u32", &[&capacity]);
    let full = out.test("setp.ge.u64", &[&at, &capacity]);
    out.branch_if(full, next);
    let [account, row] = [out.limb("cvt.u64.u32", &[&account]), out.limb("mul.wide.u32", &[&scenario, &accounts])];
    let row = out.limb("add.u64", &[&row, &account]);
    let into = out.limb("shl.b64", &[&at, &3]);
    let into = out.limb("add.u64", &[&list, &into]);
    out.line(format_args!("st.global.b64 [{into}], {row}"));
}
