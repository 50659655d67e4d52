//! Reads the PTX that this back end writes: a line an instruction, nothing else of the language.

use std::collections::HashMap;

use super::floats::{self, FloatLine};

/// Where a value comes from.
#[derive(Clone, Debug)]
pub enum Operand {
    Register(usize),
    Known(u64),
    /// Both halves of a limb.
    Pair([usize; 2]),
    /// Thread, block, or size of a block.
    Special(Special),
    /// A parameter or constant by name, and a number of bytes from its start.
    Named(String, u64),
    /// What a register points to.
    Memory(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Special {
    Thread,
    Block,
    Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How a carry flag takes part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carry {
    pub into: bool,
    pub out: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Move,
    Add(Carry),
    Subtract(Carry),
    Multiply { high: bool, wide: bool },
    MultiplyAdd { high: bool, wide: bool, carry: Carry },
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight { signed: bool },
    FunnelRight,
    FunnelLeft,
    Permute,
    LeadingZeros,
    Divide,
    Remainder,
    Test(Comparison),
    Select,
    Load,
    Store,
    AtomicAdd,
    Float(FloatLine),
    Branch,
    Call,
    Return,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The predicate that must hold.
    pub guard: Option<usize>,
    pub operation: Operation,
    /// Bits that it works on.
    pub bits: u32,
    pub operands: Vec<Operand>,
    /// Where a branch goes, or what is called.
    pub target: String,
}

#[derive(Clone, Debug, Default)]
pub struct Function {
    pub lines: Vec<Line>,
    pub labels: HashMap<String, usize>,
    pub parameters: Vec<String>,
    pub results: Vec<String>,
    pub registers: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Module {
    pub functions: HashMap<String, Function>,
    pub constants: HashMap<String, Vec<u64>>,
}

/// What is wrong with a text, and in which line.
pub type Wrong = String;

/// Names of registers and what they are numbered.
#[derive(Default)]
struct Names {
    known: HashMap<String, usize>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let next = self.known.len();
        *self.known.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self, text: &str) -> Result<Operand, Wrong> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            let (low, high) = inner.split_once(',').ok_or_else(|| format!("no pair: {text}"))?;
            return Ok(Operand::Pair([self.number(low.trim()), self.number(high.trim())]));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            if inner.starts_with('%') {
                return Ok(Operand::Memory(self.number(inner)));
            }
            let (name, from) = inner.split_once('+').unwrap_or((inner, "0"));
            return Ok(Operand::Named(name.to_owned(), from.parse().map_err(|_| format!("no offset: {text}"))?));
        }
        Ok(match text {
            "%tid.x" => Operand::Special(Special::Thread),
            "%ctaid.x" => Operand::Special(Special::Block),
            "%ntid.x" => Operand::Special(Special::Size),
            _ if text.starts_with('%') => Operand::Register(self.number(text)),
            _ => match literal(text) {
                Some(value) => Operand::Known(value),
                None => Operand::Named(text.to_owned(), 0),
            },
        })
    }
}

fn literal(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Operands between commas, of which those in braces are one.
fn pieces(text: &str) -> Vec<String> {
    let (mut found, mut depth) = (vec![String::new()], 0);
    for character in text.chars() {
        depth += i32::from("{(".contains(character)) - i32::from("})".contains(character));
        if character == ',' && depth == 0 {
            found.push(String::new());
        } else if let Some(last) = found.last_mut() {
            last.push(character);
        }
    }
    found.into_iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

fn operation(parts: &[&str]) -> Option<Operation> {
    if let Some(float) = floats::parsed(parts) {
        return Some(float);
    }
    let has = |wanted: &str| parts.contains(&wanted);
    let carry = Carry { into: parts[0].ends_with('c'), out: has("cc") };
    let comparison = || {
        Some(match *parts.get(1)? {
            "eq" => Comparison::Equal,
            "ne" => Comparison::Different,
            "lt" => Comparison::Less,
            "le" => Comparison::LessOrEqual,
            "gt" => Comparison::Greater,
            "ge" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    };
    Some(match parts[0] {
        "mov" | "cvt" | "cvta" => Operation::Move,
        "add" | "addc" => Operation::Add(carry),
        "sub" | "subc" => Operation::Subtract(carry),
        "mul" => Operation::Multiply { high: has("hi"), wide: has("wide") },
        "mad" | "madc" => Operation::MultiplyAdd { high: has("hi"), wide: has("wide"), carry },
        "and" => Operation::And,
        "or" => Operation::Or,
        "xor" => Operation::Xor,
        "not" => Operation::Not,
        "shl" => Operation::ShiftLeft,
        "shr" => Operation::ShiftRight { signed: has("s64") },
        "shf" if has("r") => Operation::FunnelRight,
        "shf" => Operation::FunnelLeft,
        "prmt" => Operation::Permute,
        "clz" => Operation::LeadingZeros,
        "div" => Operation::Divide,
        "rem" => Operation::Remainder,
        "setp" => Operation::Test(comparison()?),
        "selp" => Operation::Select,
        "ld" => Operation::Load,
        "st" => Operation::Store,
        "atom" => Operation::AtomicAdd,
        _ => return None,
    })
}

fn bits(parts: &[&str]) -> u32 {
    // A conversion works on what it makes.
    let kind = if parts[0] == "cvt" { parts[1] } else { parts[parts.len() - 1] };
    match kind {
        "pred" => 1,
        kind if kind.ends_with("32") => 32,
        _ => 64,
    }
}

/// One instruction, without its semicolon.
fn line(text: &str, names: &mut Names) -> Result<Line, Wrong> {
    let (guard, text) = match text.strip_prefix('@') {
        Some(rest) => {
            let (name, rest) = rest.split_once(' ').ok_or_else(|| format!("a guard alone: {text}"))?;
            (Some(names.number(name)), rest.trim())
        }
        None => (None, text),
    };
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let plain =
        |operation, target: &str| Line { guard, operation, bits: 0, operands: Vec::new(), target: target.to_owned() };
    match name {
        "ret" => return Ok(plain(Operation::Return, "")),
        "bra" => return Ok(plain(Operation::Branch, rest.trim())),
        "call" => {
            let all = pieces(rest);
            let [result, target, given] = all.as_slice() else { return Err(format!("no call: {text}")) };
            let name = |text: &String| Operand::Named(text.trim_matches(['(', ')']).to_owned(), 0);
            return Ok(Line { operands: vec![name(result), name(given)], ..plain(Operation::Call, target) });
        }
        _ => {}
    }
    let parts: Vec<&str> = name.split('.').collect();
    let found = operation(&parts).ok_or_else(|| format!("an instruction that is not in the subset: {text}"))?;
    let operands = pieces(rest).iter().map(|piece| names.operand(piece)).collect::<Result<Vec<_>, Wrong>>()?;
    Ok(Line { operands, bits: bits(&parts), ..plain(found, "") })
}

/// Names in a list of parameters.
fn parameters(text: &str) -> Vec<String> {
    let name =
        |piece: &str| piece.split_whitespace().last().map(|name| name.split('[').next().unwrap_or(name).to_owned());
    text.split(',').filter(|piece| piece.contains(".param")).filter_map(name).collect()
}

/// The name, results and parameters of a function.
fn heading(text: &str) -> Result<(String, Function), Wrong> {
    let wrong = || format!("no heading: {text}");
    let mut function = Function::default();
    let rest = match text.strip_prefix(".func (") {
        Some(rest) => {
            let (results, rest) = rest.split_once(')').ok_or_else(wrong)?;
            function.results = parameters(results);
            rest.trim()
        }
        None => text.strip_prefix(".visible .entry ").ok_or_else(wrong)?,
    };
    let (name, given) = rest.split_once('(').ok_or_else(wrong)?;
    function.parameters = parameters(given.trim_end_matches(')'));
    Ok((name.trim().to_owned(), function))
}

/// Read a whole module.
pub fn parse(text: &str) -> Result<Module, Wrong> {
    let mut module = Module::default();
    let (mut head, mut open): (String, Option<(String, Function, Names)>) = (String::new(), None);
    // Scopes inside the function.
    let mut depth = 0;
    for text in text.lines().map(str::trim).filter(|text| !text.is_empty()) {
        let Some((_, function, names)) = &mut open else {
            if let Some(constant) = text.strip_prefix(".const .align 8 .b64 ") {
                let (name, values) = constant.split_once('[').ok_or_else(|| format!("no constant: {text}"))?;
                let values = values.split_once('{').map_or("", |(_, values)| values.trim_end_matches("};"));
                let values = values.split(',').filter_map(|value| literal(value.trim()));
                module.constants.insert(name.to_owned(), values.collect());
            } else if text == "{" {
                let (name, function) = heading(&std::mem::take(&mut head))?;
                open = Some((name, function, Names::default()));
            } else if ![".version", ".target", ".address_size", ".maxnreg"].iter().any(|word| text.starts_with(word)) {
                head.push_str(text);
            }
            continue;
        };
        match text {
            "}" if depth == 0 => {
                let (name, mut function, names) = open.take().ok_or("an end without a beginning")?;
                function.registers = names.known.len();
                module.functions.insert(name, function);
            }
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if text.ends_with(':') => {
                function.labels.insert(text.trim_end_matches(':').to_owned(), function.lines.len());
            }
            _ if text.starts_with('.') => {}
            _ => function.lines.push(line(text.trim_end_matches(';'), names)?),
        }
    }
    Ok(module)
}
