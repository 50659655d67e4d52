//! The parts of Thrift's compact protocol that Parquet's metadata needs.

pub const I32: u8 = 5;
pub const I64: u8 = 6;
pub const BINARY: u8 = 8;
pub const LIST: u8 = 9;
pub const STRUCT: u8 = 12;

/// A struct being written: each field stores the distance of its number from the one before.
#[derive(Default)]
pub struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn head(&mut self, field: u8, kind: u8) {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    /// Add a number, which is not negative.
    pub fn number(mut self, field: u8, kind: u8, number: usize) -> Self {
        self.head(field, kind);
        push_number(&mut self.bytes, number);
        self
    }

    pub fn text(mut self, field: u8, text: &[u8]) -> Self {
        self.head(field, BINARY);
        push_text(&mut self.bytes, text);
        self
    }

    pub fn list(mut self, field: u8, kind: u8, items: &[Vec<u8>]) -> Self {
        self.head(field, LIST);
        if items.len() < 15 {
            self.bytes.push((items.len() as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            push_varint(&mut self.bytes, items.len());
        }
        items.iter().for_each(|item| self.bytes.extend_from_slice(item));
        self
    }

    pub fn inner(mut self, field: u8, inner: Struct) -> Self {
        self.head(field, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

pub fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push_varint(out, text.len());
    out.extend_from_slice(text);
}

pub fn push_number(out: &mut Vec<u8>, number: usize) {
    push_varint(out, number << 1);
}

pub fn push_varint(out: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
