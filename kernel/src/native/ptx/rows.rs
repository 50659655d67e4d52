//! The kernel that computes every row: account and scenario follow from the row's number.

use super::{
    Planes,
    assembler::{Assembler, Half},
    functions::{Functions, Unsupported},
    printer::{Frame, Printer},
};
use crate::native::lowering::{limbs::Limb, lower::Lowered};

/// The kernel's parameters: four places, then four counts.
const PARAMETERS: [(&str, &str); 8] = [
    ("u64", "accounts"),
    ("u64", "scenarios"),
    ("u64", "outputs"),
    ("u64", "flags"),
    ("u32", "account_count"),
    ("u32", "scenario_count"),
    ("u32", "first"),
    ("u32", "count"),
];

/// The first lines of a kernel.
pub fn entry(name: &str, parameters: &[(&str, &str)], body: &str) -> String {
    let parameters: Vec<String> = parameters.iter().map(|(kind, name)| format!("\t.param .{kind} {name}")).collect();
    format!(".visible .entry {name}(\n{}\n)\n{{\n{body}}}\n", parameters.join(",\n"))
}

/// A parameter that is a number.
pub fn number(out: &mut Assembler, name: &str) -> Half {
    out.half("ld.param.u32", &[&format_args!("[{name}]")])
}

/// A parameter that is a place in the device's memory.
pub fn place(out: &mut Assembler, name: &str) -> Limb {
    let place = out.limb("ld.param.u64", &[&format_args!("[{name}]")]);
    out.limb("cvta.to.global.u64", &[&place])
}

/// The number of this thread.
pub fn thread(out: &mut Assembler) -> Half {
    let [thread, block, size] = ["%tid.x", "%ctaid.x", "%ntid.x"].map(|name| out.half("mov.u32", &[&name]));
    out.half("mad.lo.u32", &[&block, &size, &thread])
}

/// Planes of limbs: where the own limb of the first one is, and the bytes from one to the next.
#[derive(Clone, Copy)]
pub struct Table {
    pub own: Limb,
    pub step: Half,
}

impl Table {
    pub fn new(out: &mut Assembler, name: &str, index: Half, count: Half) -> Self {
        let start = place(out, name);
        Self { own: out.limb("mad.wide.u32", &[&index, &8, &start]), step: out.half("shl.b32", &[&count, &3]) }
    }

    pub fn at(self, out: &mut Assembler, plane: usize) -> Limb {
        match plane {
            0 => self.own,
            _ => out.limb("mad.wide.u32", &[&self.step, &plane, &self.own]),
        }
    }

    pub fn load(self, out: &mut Assembler, plane: usize, how: &str) -> Limb {
        let at = self.at(out, plane);
        out.limb(how, &[&format_args!("[{at}]")])
    }

    pub fn store(self, out: &mut Assembler, plane: usize, value: Limb) {
        let (at, value) = (self.at(out, plane), out.register(value));
        out.line(format_args!("st.global.b64 [{at}], {value}"));
    }
}

struct Row<'a> {
    planes: &'a Planes,
    accounts: Table,
    scenarios: Table,
    outputs: Table,
    flag: Limb,
}

impl Frame for Row<'_> {
    fn load(&mut self, out: &mut Assembler, at: u32) -> Limb {
        let (scenario, plane) = self.planes.input(at);
        let table = if scenario { self.scenarios } else { self.accounts };
        table.load(out, plane, "ld.global.nc.b64")
    }

    fn store(&mut self, out: &mut Assembler, at: u32, value: Limb) {
        if let Ok(plane) = self.planes.outputs.binary_search(&at) {
            self.outputs.store(out, plane, value);
        }
    }

    fn end(&mut self, out: &mut Assembler, leaf: u8, failed: Limb) {
        let failed = out.is_set(failed);
        let flag = out.half("selp.b32", &[&0, &leaf, &failed]);
        out.line(format_args!("st.global.b32 [{}], {flag}", self.flag));
        out.line(format_args!("ret"));
    }
}

/// Print the kernel.
pub fn print(lowered: &Lowered, planes: &Planes, functions: &mut Functions) -> Result<String, Unsupported> {
    let mut out = Assembler::after(lowered.writer.values);
    let (index, count) = (thread(&mut out), number(&mut out, "count"));
    let beyond = out.test("setp.ge.u32", &[&index, &count]);
    out.line(format_args!("@{beyond} ret"));
    let first = number(&mut out, "first");
    let row = out.half("add.u32", &[&first, &index]);
    let (accounts, scenarios) = (number(&mut out, "account_count"), number(&mut out, "scenario_count"));
    let (account, scenario) = (out.half("rem.u32", &[&row, &accounts]), out.half("div.u32", &[&row, &accounts]));
    let flags = place(&mut out, "flags");
    let frame = Row {
        planes,
        accounts: Table::new(&mut out, "accounts", account, accounts),
        scenarios: Table::new(&mut out, "scenarios", scenario, scenarios),
        outputs: Table::new(&mut out, "outputs", index, count),
        flag: out.limb("mad.wide.u32", &[&index, &4, &flags]),
    };
    let mut printer = Printer::over(out, frame, functions, lowered.writer.values);
    printer.print(&lowered.writer.code)?;
    Ok(entry("rows", &PARAMETERS, &printer.out.body()))
}
