//! Device functions: division by variables, and the instructions that the lowering leaves to a call.

use std::{collections::BTreeMap, fmt};

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    assembler::Assembler,
    division::divide,
    keccak,
    printer::{Frame, Printer},
    products::multiply,
};
use crate::native::{
    lowering::{
        limbs::{Helper, Limb, Target, ZERO},
        lower::lower,
    },
    ssa::{
        ir::{Builder, Function, Part},
        plan::Plan,
    },
};

/// What a device cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The device functions of a module by name.
#[derive(Default)]
pub struct Functions {
    texts: BTreeMap<String, String>,
    /// What hashes are made of, by number.
    pub hashed: Vec<Vec<Part>>,
    pub needs_rounds: bool,
}

impl Functions {
    pub fn new(hashed: Vec<Vec<Part>>) -> Self {
        Self { hashed, ..Self::default() }
    }

    /// All functions, those that are called first, and the constants that they read.
    pub fn text(&self) -> String {
        let rounds = if self.needs_rounds { keccak::rounds() } else { String::new() };
        // Names are chosen so that a function comes after those that it calls.
        rounds + &self.texts.values().map(String::as_str).collect::<String>()
    }

    /// The name of a helper's function, which is written if it is new.
    pub fn declare(&mut self, helper: Helper, arguments: usize, results: usize) -> Result<String, Unsupported> {
        let name = match helper {
            Helper::Divide { dividend } => format!("a_quotient_{dividend}_{}", arguments - usize::from(dividend)),
            Helper::Remainder { dividend } => format!("a_remainder_{dividend}_{}", arguments - usize::from(dividend)),
            Helper::Reciprocal => return Err(Unsupported("code for a device guesses nothing".to_owned())),
            Helper::Pure(opcode) => {
                format!("b_{}", op::OpCode::new(opcode).map_or("pure", |code| code.as_str())).to_lowercase()
            }
            Helper::Keccak(text) => format!("b_keccak_{text}"),
        };
        if self.texts.contains_key(&name) {
            return Ok(name);
        }
        let body = match helper {
            Helper::Divide { dividend } | Helper::Remainder { dividend } => {
                let mut out = Assembler::default();
                let given = arguments_of(&mut out, arguments);
                let (quotient, remainder) = divide(&mut out, &given[..dividend.into()], &given[dividend.into()..]);
                finish(out, if matches!(helper, Helper::Divide { .. }) { &quotient } else { &remainder })
            }
            Helper::Reciprocal => String::new(),
            Helper::Pure(op::EXP) => power(),
            Helper::Pure(opcode) => match definition(opcode) {
                Some(function) => self.defined(&function)?,
                None => return Err(Unsupported(format!("the instruction {opcode:#04x} has no device function"))),
            },
            Helper::Keccak(text) => {
                self.needs_rounds = true;
                keccak::body(&self.hashed[text as usize], arguments)
            }
        };
        self.texts.insert(name.clone(), declaration(&name, arguments, results, &body));
        Ok(name)
    }

    /// The name of the function that multiplies numbers of so many limbs.
    pub fn declare_product(&mut self, a: usize, b: usize, size: usize) -> String {
        let name = format!("a_product_{a}_{b}_{size}");
        if !self.texts.contains_key(&name) {
            let mut out = Assembler::default();
            let given = arguments_of(&mut out, a + b);
            let product = multiply(&mut out, &given[..a], &given[a..], size);
            self.texts.insert(name.clone(), declaration(&name, a + b, size, &finish(out, &product)));
        }
        name
    }

    /// The body of a function that is written in words.
    fn defined(&mut self, function: &Function) -> Result<String, Unsupported> {
        let plan = Plan::new(function, &[]).map_err(|error| Unsupported(error.to_string()))?;
        let lowered = lower(&plan, Target::Device);
        let mut printer = Printer::new(Called, self, lowered.writer.values);
        printer.print(&lowered.writer.code)?;
        Ok(printer.out.body())
    }
}

/// A device function whose inputs and outputs are words in arrays.
struct Called;

impl Frame for Called {
    fn load(&mut self, out: &mut Assembler, at: u32) -> Limb {
        let into = out.fresh();
        out.line(format_args!("ld.param.b64 {into}, [given+{}]", 8 * at));
        into
    }

    fn store(&mut self, out: &mut Assembler, at: u32, value: Limb) {
        let value = out.register(value);
        out.line(format_args!("st.param.b64 [result+{}], {value}", 8 * at));
    }

    fn end(&mut self, out: &mut Assembler, _leaf: u8, _failed: Limb) {
        out.line(format_args!("ret"));
    }
}

fn declaration(name: &str, arguments: usize, results: usize, body: &str) -> String {
    format!(
        ".func (.param .align 8 .b8 result[{}]) {name}(.param .align 8 .b8 given[{}])\n{{\n{body}}}\n\n",
        8 * results,
        8 * arguments
    )
}

pub fn arguments_of(out: &mut Assembler, count: usize) -> Vec<Limb> {
    (0..count as u32).map(|at| Called.load(out, at)).collect()
}

/// A function that ends with these limbs.
pub fn finish(mut out: Assembler, results: &[Limb]) -> String {
    for (at, limb) in results.iter().enumerate() {
        Called.store(&mut out, at as u32, *limb);
    }
    out.line(format_args!("ret"));
    out.body()
}

/// Call a device function.
pub fn call(out: &mut Assembler, name: &str, arguments: &[Limb], results: usize) -> Vec<Limb> {
    let (given, result) = (out.label("given"), out.label("result"));
    let arguments: Vec<Limb> = arguments.iter().map(|limb| out.register(*limb)).collect();
    out.brace('{');
    out.line(format_args!(".param .align 8 .b8 {given}[{}]", 8 * arguments.len()));
    out.line(format_args!(".param .align 8 .b8 {result}[{}]", 8 * results));
    for (at, limb) in arguments.iter().enumerate() {
        out.line(format_args!("st.param.b64 [{given}+{}], {limb}", 8 * at));
    }
    out.line(format_args!("call ({result}), {name}, ({given})"));
    let mut found = Vec::new();
    for at in 0..results {
        let into = out.fresh();
        out.line(format_args!("ld.param.b64 {into}, [{result}+{}]", 8 * at));
        found.push(into);
    }
    out.brace('}');
    found
}

/// An instruction in terms of those that have a lowering of their own.
fn definition(opcode: u8) -> Option<Function> {
    let mut code = Builder::new();
    let [a, b] = [code.input(0), code.input(1)];
    let zero = code.constant(U256::ZERO);
    let result = match opcode {
        op::SDIV | op::SMOD => {
            let [(a, a_below), (b, b_below)] = [a, b].map(|word| {
                let below = code.pure(op::SLT, [word, zero, 0]);
                let negated = code.pure(op::SUB, [zero, word, 0]);
                (code.select(below, negated, word), below)
            });
            let unsigned = if opcode == op::SDIV { op::DIV } else { op::MOD };
            let value = code.pure(unsigned, [a, b, 0]);
            let below = if opcode == op::SDIV { code.pure(op::XOR, [a_below, b_below, 0]) } else { a_below };
            let negated = code.pure(op::SUB, [zero, value, 0]);
            code.select(below, negated, value)
        }
        op::BYTE | op::SIGNEXTEND => {
            let (most, top) = (if opcode == op::BYTE { 32 } else { 31 }, code.constant(U256::from(248)));
            let (most, eight) = (code.constant(U256::from(most)), code.constant(U256::from(8)));
            let inside = code.pure(op::LT, [a, most, 0]);
            let bits = code.pure(op::MUL, [a, eight, 0]);
            let by = code.pure(op::SUB, [top, bits, 0]);
            if opcode == op::BYTE {
                let moved = code.pure(op::SHR, [by, b, 0]);
                let mask = code.constant(U256::from(0xff));
                let byte = code.pure(op::AND, [moved, mask, 0]);
                code.select(inside, byte, zero)
            } else {
                let up = code.pure(op::SHL, [by, b, 0]);
                let down = code.pure(op::SAR, [by, up, 0]);
                code.select(inside, down, b)
            }
        }
        _ => return None,
    };
    code.output(result);
    Some(code.finish())
}

/// A word to the power of another one: squares, and products where the exponent has a bit.
fn power() -> String {
    let mut out = Assembler::default();
    let given = arguments_of(&mut out, 8);
    let square: Vec<Limb> = given[..4].iter().map(|limb| out.limb("mov.b64", &[limb])).collect();
    let exponent: Vec<Limb> = given[4..].iter().map(|limb| out.limb("mov.b64", &[limb])).collect();
    let result: Vec<Limb> = (0..4).map(|at| out.limb("mov.b64", &[&i32::from(at == 0)])).collect();
    let (head, even, done) = (out.label("head"), out.label("even"), out.label("done"));
    out.place(&head);
    let any = exponent.iter().skip(1).fold(exponent[0], |any, limb| out.limb("or.b64", &[&any, limb]));
    let finished = out.test("setp.eq.u64", &[&any, &0]);
    out.branch_if(finished, &done);
    let bit = out.limb("and.b64", &[&exponent[0], &1]);
    let skipped = out.test("setp.eq.u64", &[&bit, &0]);
    out.branch_if(skipped, &even);
    let product = multiply(&mut out, &result, &square, 4);
    result.iter().zip(&product).for_each(|(into, limb)| out.set(*into, "mov.b64", &[limb]));
    out.place(&even);
    let product = multiply(&mut out, &square, &square, 4);
    square.iter().zip(&product).for_each(|(into, limb)| out.set(*into, "mov.b64", &[limb]));
    for at in 0..4 {
        let lower = out.limb("shr.u64", &[&exponent[at], &1]);
        let upper = match exponent.get(at + 1) {
            Some(upper) => out.limb("shl.b64", &[upper, &63]),
            None => ZERO,
        };
        out.set(exponent[at], "or.b64", &[&lower, &upper]);
    }
    out.branch(&head);
    out.place(&done);
    finish(out, &result)
}
