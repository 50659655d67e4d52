//! Parquet files of integers, floats and texts, whose bytes depend on the rows alone.
//!
//! Texts and integers are dictionary-encoded where values repeat and plain otherwise. Nothing is compressed, since the
//! output of compressors changes between versions.

use std::{collections::HashMap, hash::Hash};

use super::thrift::{BINARY, I32, I64, STRUCT, Struct, push_number, push_text, push_varint};

const MAGIC: &[u8] = b"PAR1";
const ROWS_A_GROUP: usize = 122_880;
/// Rows from which indices are packed if they change often.
const MANY: usize = 256;
const PLAIN: usize = 0;
const RLE: usize = 3;
const RLE_DICTIONARY: usize = 8;

/// What a column holds; times are in microseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Unsigned,
    Float,
    Text,
    Time,
}

impl Kind {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "integer" => Some(Self::Integer),
            "unsigned" => Some(Self::Unsigned),
            "float" => Some(Self::Float),
            "text" => Some(Self::Text),
            "time" => Some(Self::Time),
            _ => None,
        }
    }

    fn physical(self) -> usize {
        match self {
            Self::Integer | Self::Unsigned | Self::Time => 2,
            Self::Float => 5,
            Self::Text => 6,
        }
    }

    fn converted(self) -> Option<usize> {
        match self {
            Self::Text => Some(0),
            Self::Time => Some(10),
            Self::Unsigned => Some(14),
            Self::Integer | Self::Float => None,
        }
    }
}

pub struct Column<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub cells: Cells<'a>,
}

/// Values of a column. Unsigned integers are stored as the signed ones with the same bits.
pub enum Cells<'a> {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Texts<'a>),
}

/// Texts as numbers of distinct texts.
#[derive(Default)]
pub struct Texts<'a> {
    distinct: Vec<&'a [u8]>,
    numbers: HashMap<&'a [u8], u32>,
    pub cells: Vec<u32>,
}

impl<'a> Texts<'a> {
    pub fn number(&mut self, text: &'a [u8]) -> u32 {
        *self.numbers.entry(text).or_insert_with(|| {
            self.distinct.push(text);
            self.distinct.len() as u32 - 1
        })
    }

    pub fn push(&mut self, text: &'a [u8]) {
        let number = self.number(text);
        self.cells.push(number);
    }
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Floats(cells) => cells.len(),
            Self::Texts(texts) => texts.cells.len(),
        }
    }
}

/// Encode columns of one length; an error if lengths differ.
pub fn encode(columns: &[Column<'_>]) -> Result<Vec<u8>, String> {
    let total = columns.first().map_or(0, |column| column.cells.len());
    if let Some(other) = columns.iter().find(|column| column.cells.len() != total) {
        return Err(format!("column '{}' has {} values, not {total}", other.name, other.cells.len()));
    }
    let mut file = MAGIC.to_vec();
    let mut groups = Vec::new();
    for start in (0..total).step_by(ROWS_A_GROUP) {
        let (end, began) = (total.min(start + ROWS_A_GROUP), file.len());
        let chunks: Vec<_> = columns.iter().map(|column| push_chunk(&mut file, column, start, end)).collect();
        let group = Struct::default().list(1, STRUCT, &chunks);
        groups.push(group.number(2, I64, file.len() - began).number(3, I64, end - start).end());
    }
    let mut schema = vec![Struct::default().text(4, b"rows").number(5, I32, columns.len()).end()];
    schema.extend(columns.iter().map(|column| {
        let element = Struct::default().number(1, I32, column.kind.physical()).number(3, I32, 0);
        let element = element.text(4, column.name.as_bytes());
        match column.kind.converted() {
            Some(kind) => element.number(6, I32, kind).end(),
            None => element.end(),
        }
    }));
    let footer = Struct::default().number(1, I32, 1).list(2, STRUCT, &schema).number(3, I64, total);
    let footer = footer.list(4, STRUCT, &groups).text(6, b"mayavi").end();
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    file.extend_from_slice(MAGIC);
    Ok(file)
}

/// Append the pages of some rows of a column to the file and return their metadata.
fn push_chunk(file: &mut Vec<u8>, column: &Column<'_>, start: usize, end: usize) -> Vec<u8> {
    let (began, rows) = (file.len(), end - start);
    let data_at = match &column.cells {
        Cells::Floats(cells) => {
            let plain = cells[start..end].iter().flat_map(|cell| cell.to_le_bytes());
            push_data(file, PLAIN, rows, &plain.collect::<Vec<_>>())
        }
        Cells::Integers(cells) => {
            let (cells, plain) = (&cells[start..end], |cell: &i64, out: &mut Vec<u8>| out.extend(cell.to_le_bytes()));
            push_values(file, cells, integer_dictionary(cells), plain)
        }
        Cells::Texts(texts) => {
            let cells = &texts.cells[start..end];
            push_values(file, cells, text_dictionary(cells, texts.distinct.len()), |cell, out| {
                let text = texts.distinct[*cell as usize];
                out.extend((text.len() as u32).to_le_bytes());
                out.extend_from_slice(text);
            })
        }
    };
    let has_dictionary = data_at != began;
    let mut encodings = vec![PLAIN, RLE];
    encodings.extend(has_dictionary.then_some(RLE_DICTIONARY));
    let encodings: Vec<_> = encodings.into_iter().map(|each| encoded(|out| push_number(out, each))).collect();
    let path = [encoded(|out| push_text(out, column.name.as_bytes()))];
    let size = file.len() - began;
    let facts = Struct::default().number(1, I32, column.kind.physical()).list(2, I32, &encodings);
    let facts = facts.list(3, BINARY, &path).number(4, I32, 0);
    let facts = facts.number(5, I64, rows).number(6, I64, size).number(7, I64, size).number(9, I64, data_at);
    let facts = if has_dictionary { facts.number(11, I64, began) } else { facts };
    Struct::default().number(2, I64, began).inner(3, facts).end()
}

fn encoded(push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out);
    out
}

/// Append values with their dictionary, if they have one, and return where the data page begins.
fn push_values<T>(
    file: &mut Vec<u8>,
    cells: &[T],
    dictionary: Option<Dictionary<T>>,
    plain: impl Fn(&T, &mut Vec<u8>),
) -> usize {
    let mut content = Vec::new();
    let Some(Dictionary { entries, indices }) = dictionary else {
        cells.iter().for_each(|cell| plain(cell, &mut content));
        return push_data(file, PLAIN, cells.len(), &content);
    };
    entries.iter().for_each(|entry| plain(entry, &mut content));
    let header = Struct::default().number(1, I32, entries.len()).number(2, I32, PLAIN);
    push_page(file, 2, 7, header, &content);
    let width = usize::BITS - (entries.len() - 1).leading_zeros();
    let mut data = vec![width as u8];
    push_indices(&mut data, &indices, width);
    push_data(file, RLE_DICTIONARY, cells.len(), &data)
}

/// Append a data page and return where it begins. It has no levels: no value is missing.
fn push_data(file: &mut Vec<u8>, encoding: usize, rows: usize, content: &[u8]) -> usize {
    let at = file.len();
    let header = Struct::default().number(1, I32, rows).number(2, I32, encoding);
    push_page(file, 0, 5, header.number(3, I32, RLE).number(4, I32, RLE), content);
    at
}

fn push_page(file: &mut Vec<u8>, kind: usize, field: u8, header: Struct, content: &[u8]) {
    let size = content.len();
    let page = Struct::default().number(1, I32, kind).number(2, I32, size).number(3, I32, size);
    file.extend(page.inner(field, header).end());
    file.extend_from_slice(content);
}

/// Distinct values in the order of their first appearance, and the index of each cell.
struct Dictionary<T> {
    entries: Vec<T>,
    indices: Vec<u32>,
}

/// None if more than half of the cells are distinct.
fn integer_dictionary(cells: &[i64]) -> Option<Dictionary<i64>> {
    let increasing = cells.windows(2).all(|pair| pair[0] < pair[1]);
    if increasing { None } else { dictionary(cells, &mut HashMap::new(), |known, cell| known.get(&cell).copied()) }
}

fn text_dictionary(cells: &[u32], distinct: usize) -> Option<Dictionary<u32>> {
    let mut known = vec![u32::MAX; distinct];
    dictionary(cells, &mut known, |known, cell| Some(known[cell as usize]).filter(|index| *index != u32::MAX))
}

trait Known<T> {
    fn learn(&mut self, value: T, index: u32);
}

impl<T: Hash + Eq> Known<T> for HashMap<T, u32> {
    fn learn(&mut self, value: T, index: u32) {
        self.insert(value, index);
    }
}

impl Known<u32> for Vec<u32> {
    fn learn(&mut self, value: u32, index: u32) {
        self[value as usize] = index;
    }
}

fn dictionary<T: Copy, K: Known<T>>(
    cells: &[T],
    known: &mut K,
    find: impl Fn(&K, T) -> Option<u32>,
) -> Option<Dictionary<T>> {
    let (mut entries, mut indices) = (Vec::new(), Vec::with_capacity(cells.len()));
    for cell in cells {
        let index = find(known, *cell).unwrap_or_else(|| {
            let index = entries.len() as u32;
            entries.push(*cell);
            known.learn(*cell, index);
            index
        });
        indices.push(index);
        if 2 * entries.len() > cells.len() {
            return None;
        }
    }
    (!cells.is_empty()).then_some(Dictionary { entries, indices })
}

/// Append dictionary indices as runs, or bit-packed where they change often.
fn push_indices(out: &mut Vec<u8>, indices: &[u32], width: u32) {
    let changes = indices.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if indices.len() >= MANY && 4 * changes > indices.len() {
        push_packed(out, indices, width);
        return;
    }
    for run in indices.chunk_by(|one, next| one == next) {
        push_varint(out, run.len() << 1);
        out.extend_from_slice(&run[0].to_le_bytes()[..width.div_ceil(8) as usize]);
    }
}

/// Pack indices with `width` bits each, lowest bit first, in groups of eight.
fn push_packed(out: &mut Vec<u8>, indices: &[u32], width: u32) {
    let groups = indices.len().div_ceil(8);
    push_varint(out, groups << 1 | 1);
    let end = out.len() + groups * width as usize;
    let (mut bits, mut held) = (0_u64, 0);
    for index in indices {
        bits |= u64::from(*index) << held;
        held += width;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(bits as u8);
    }
    out.resize(end, 0);
}
