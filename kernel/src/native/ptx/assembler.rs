//! PTX, line by line: registers are numbered as they are made.

use std::fmt::{self, Display, Write};

use crate::native::lowering::limbs::Limb;

/// Half a limb: known now, or a register of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Known(u32),
    Value(u32),
}

pub const NONE: Half = Half::Known(0);

/// A register of one bit.
#[derive(Clone, Copy, Debug)]
pub struct Predicate(u32);

impl Display for Limb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => write!(f, "{value:#x}"),
            Self::Value(number) => write!(f, "%r{number}"),
        }
    }
}

impl Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => write!(f, "{value:#x}"),
            Self::Value(number) => write!(f, "%h{number}"),
        }
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%p{}", self.0)
    }
}

/// The lines of one function, and how many registers they use.
#[derive(Default)]
pub struct Assembler {
    lines: String,
    limbs: u32,
    halves: u32,
    predicates: u32,
    labels: u32,
}

impl Assembler {
    /// Registers below `limbs` have their numbers already.
    pub fn after(limbs: u32) -> Self {
        Self { limbs, ..Self::default() }
    }

    pub fn fresh(&mut self) -> Limb {
        self.limbs += 1;
        Limb::Value(self.limbs - 1)
    }

    pub fn label(&mut self, name: &str) -> String {
        self.labels += 1;
        format!("{name}_{}", self.labels)
    }

    pub fn place(&mut self, label: &str) {
        let _ = writeln!(self.lines, "{label}:");
    }

    /// Open or close a scope.
    pub fn brace(&mut self, brace: char) {
        let _ = writeln!(self.lines, "\t{brace}");
    }

    /// A line without a result of its own.
    pub fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.lines, "\t{text};");
    }

    fn write(&mut self, operation: &str, into: &dyn Display, operands: &[&dyn Display]) {
        let _ = write!(self.lines, "\t{operation} {into}");
        for operand in operands {
            let _ = write!(self.lines, ", {operand}");
        }
        self.lines.push_str(";\n");
    }

    /// An instruction whose result is a limb.
    pub fn limb(&mut self, operation: &str, operands: &[&dyn Display]) -> Limb {
        let into = self.fresh();
        self.write(operation, &into, operands);
        into
    }

    /// The same into a register that exists.
    pub fn set(&mut self, into: Limb, operation: &str, operands: &[&dyn Display]) {
        self.write(operation, &into, operands);
    }

    pub fn half(&mut self, operation: &str, operands: &[&dyn Display]) -> Half {
        self.halves += 1;
        let into = Half::Value(self.halves - 1);
        self.write(operation, &into, operands);
        into
    }

    pub fn set_half(&mut self, into: Half, operation: &str, operands: &[&dyn Display]) {
        self.write(operation, &into, operands);
    }

    pub fn test(&mut self, operation: &str, operands: &[&dyn Display]) -> Predicate {
        self.predicates += 1;
        let into = Predicate(self.predicates - 1);
        self.write(operation, &into, operands);
        into
    }

    /// Go on at a label where the predicate holds.
    pub fn branch_if(&mut self, predicate: Predicate, label: &str) {
        let _ = writeln!(self.lines, "\t@{predicate} bra {label};");
    }

    pub fn branch(&mut self, label: &str) {
        self.line(format_args!("bra {label}"));
    }

    pub fn is_set(&mut self, limb: Limb) -> Predicate {
        self.test("setp.ne.u64", &[&limb, &0])
    }

    pub fn select(&mut self, condition: Predicate, then: Limb, otherwise: Limb) -> Limb {
        if then == otherwise {
            return then;
        }
        self.limb("selp.b64", &[&then, &otherwise, &condition])
    }

    /// A register that certainly is one.
    pub fn register(&mut self, limb: Limb) -> Limb {
        match limb {
            Limb::Known(_) => self.limb("mov.b64", &[&limb]),
            Limb::Value(_) => limb,
        }
    }

    /// Both halves of a limb, the lower one first.
    pub fn split(&mut self, limb: Limb) -> [Half; 2] {
        match limb {
            Limb::Known(value) => [Half::Known(value as u32), Half::Known((value >> 32) as u32)],
            Limb::Value(_) => {
                self.halves += 2;
                let halves = [Half::Value(self.halves - 2), Half::Value(self.halves - 1)];
                self.line(format_args!("mov.b64 {{{}, {}}}, {limb}", halves[0], halves[1]));
                halves
            }
        }
    }

    /// One limb of two halves.
    pub fn join(&mut self, halves: [Half; 2]) -> Limb {
        if let [Half::Known(low), Half::Known(high)] = halves {
            return Limb::Known(u64::from(high) << 32 | u64::from(low));
        }
        let [low, high] = halves.map(|half| match half {
            Half::Known(_) => self.half("mov.b32", &[&half]),
            Half::Value(_) => half,
        });
        let into = self.fresh();
        self.line(format_args!("mov.b64 {into}, {{{low}, {high}}}"));
        into
    }

    /// A sum or difference of equally long numbers; the carry is left for who asks for it next.
    pub fn chain(&mut self, name: &str, a: &[Limb], b: &[Limb], carries: bool) -> Vec<Limb> {
        let into: Vec<Limb> = a.iter().map(|_| self.fresh()).collect();
        self.chain_into(name, &into, a, b, carries);
        into
    }

    pub fn chain_into(&mut self, name: &str, into: &[Limb], a: &[Limb], b: &[Limb], carries: bool) {
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            let (with, on) = (if at > 0 { "c" } else { "" }, if carries || at + 1 < into.len() { ".cc" } else { "" });
            self.write(&format!("{name}{with}{on}.u64"), &into[at], &[a, b]);
        }
    }

    /// 1 where the first number is below the second.
    pub fn less(&mut self, a: &[Limb], b: &[Limb]) -> Limb {
        if let ([a], [b]) = (a, b) {
            let below = self.test("setp.lt.u64", &[a, b]);
            return self.limb("selp.b64", &[&1, &0, &below]);
        }
        self.chain("sub", a, b, true);
        let borrowed = self.limb("subc.u64", &[&0, &0]);
        self.limb("and.b64", &[&borrowed, &1])
    }

    /// The registers that the lines use, and the lines.
    pub fn body(&self) -> String {
        format!(
            "\t.reg .b64 %r<{}>;\n\t.reg .b32 %h<{}>;\n\t.reg .pred %p<{}>;\n{}",
            self.limbs.max(1),
            self.halves.max(1),
            self.predicates.max(1),
            self.lines
        )
    }
}
