//! The canonical bytes of a world: sorted, nothing optional, so equal states give equal bytes and equal digests.
//!
//! Layout, all integers big-endian: `MKD1`, chain id u64, flags u8 (1 = closed), hard fork (u8 length + text), block
//! (number u256, timestamp u256, coinbase, gas limit u64, base fee u64, difficulty u256, prevrandao flag u8 + 32 bytes,
//! excess blob gas flag u8 + u64, blob gas price u128), block hashes (u32 count, then number u64 + hash), codes
//! (u32 count, then u32 length + bytes, ordered by hash), accounts (u32 count, then address, balance, nonce u64,
//! u32 index of the code + 1 or 0, flags u8 (1 = complete), u32 slot count, key + value each), ordered by address.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use revm::{
    context::BlockEnv,
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{Address, B256, U256, U256Map, hardfork::SpecId},
    state::AccountInfo,
};

use super::{
    overlay::{Overlay, OverlayAccount, Row},
    world::{Base, BaseAccount, CodeStore, World},
};
use crate::blocks::hardfork;

const MAGIC: &[u8; 4] = b"MKD1";

/// Everything known of one account, layers merged.
#[derive(Clone)]
pub struct Merged {
    pub info: AccountInfo,
    complete: bool,
    slots: U256Map<U256>,
}

impl Merged {
    /// An account of a world with what was written over it; none where that equals an absent one.
    pub fn of(below: Option<&BaseAccount>, written: Option<&OverlayAccount>, closed: bool) -> Option<Self> {
        let mut merged = match below {
            Some(below) => Self { info: below.info.clone(), complete: below.complete, slots: below.slots.clone() },
            None => Self { info: AccountInfo::default(), complete: closed, slots: U256Map::default() },
        };
        if let Some(written) = written {
            merged.info = written.info.clone();
            if written.cleared {
                merged.complete = true;
                merged.slots.clear();
            }
            merged.slots.extend(written.slots.iter().map(|(k, v)| (*k, *v)));
        }
        if merged.complete {
            merged.slots.retain(|_, value| !value.is_zero());
        }
        // An account whose code is not known cannot be written. Absent from an open world, it is an error to read.
        let known = merged.info.code.is_some() || merged.info.is_empty_code_hash();
        // In a closed world an empty account equals an absent one.
        let absent = closed && merged.info.is_empty() && merged.slots.is_empty();
        (known && !absent).then_some(merged)
    }

    pub fn has_code(&self) -> bool {
        self.info.code.as_ref().is_some_and(|code| !code.is_empty())
    }
}

fn merge(world: &World, overlay: &Overlay) -> BTreeMap<Address, Merged> {
    let learnt = world.learnt.read().unwrap_or_else(|e| e.into_inner());
    let mut layers: BTreeMap<Address, Option<&BaseAccount>> = overlay.iter().map(|(each, _)| (*each, None)).collect();
    for base in [&*learnt, &world.base] {
        layers.extend(base.iter().map(|account| (account.address, Some(account))));
    }
    let merged = |(address, below)| Some((address, Merged::of(below, overlay.get(&address), world.closed)?));
    layers.into_iter().filter_map(merged).collect()
}

fn known_hashes(world: &World) -> BTreeMap<u64, B256> {
    let learnt = world.learnt.read().unwrap_or_else(|e| e.into_inner());
    [&*learnt, &world.base].iter().flat_map(|base| &base.block_hashes).map(|(number, hash)| (*number, *hash)).collect()
}

/// A new frozen world: the old one with the writes applied; `closed` means that absent accounts are empty.
pub fn freeze(world: &World, overlay: &Overlay, closed: bool) -> Arc<World> {
    let mut base = Base::default();
    for (address, merged) in merge(world, overlay) {
        base.insert(BaseAccount { address, info: merged.info, complete: merged.complete, slots: merged.slots });
    }
    base.block_hashes.extend(known_hashes(world));
    World::new(world.chain_id, closed, base)
}

pub fn dump(world: &World, row: &Row, spec: SpecId) -> Vec<u8> {
    let (head, rest) = in_parts(world, row, spec);
    let codes = world.canonical().filter(|_| rest.of_kept).map_or(&[][..], |kept| &kept.codes);
    [&head, codes, &rest.bytes].concat()
}

/// What follows the head of a dump, or only what follows the codes if these are those that the world keeps.
pub struct Rest {
    pub bytes: Vec<u8>,
    pub of_kept: bool,
}

/// A dump as its head and the rest.
pub fn in_parts(world: &World, row: &Row, spec: SpecId) -> (Vec<u8>, Rest) {
    let rest = match world.canonical().and_then(|kept| kept.accounts(world, &row.overlay)) {
        Some(bytes) => Rest { bytes, of_kept: true },
        None => Rest { bytes: dump_merged(Vec::new(), world, &row.overlay), of_kept: false },
    };
    (dump_head(world, row, spec), rest)
}

/// `dump` without the bytes that a world keeps.
#[cfg(test)]
pub fn dump_all(world: &World, row: &Row, spec: SpecId) -> Vec<u8> {
    dump_merged(dump_head(world, row, spec), world, &row.overlay)
}

/// Everything that comes before the codes.
fn dump_head(world: &World, row: &Row, spec: SpecId) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&world.chain_id.to_be_bytes());
    out.push(world.closed as u8);
    let name = hardfork::name(spec);
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    dump_block(&mut out, &row.block);
    let hashes = known_hashes(world);
    out.extend_from_slice(&(hashes.len() as u32).to_be_bytes());
    for (number, hash) in &hashes {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(hash.as_slice());
    }
    out
}

/// Append codes and accounts, all layers merged.
fn dump_merged(mut out: Vec<u8>, world: &World, overlay: &Overlay) -> Vec<u8> {
    let accounts = merge(world, overlay);
    let code_index = dump_codes(&mut out, accounts.values());
    out.extend_from_slice(&(accounts.len() as u32).to_be_bytes());
    for (address, account) in &accounts {
        dump_account(&mut out, address, account, code_index.get(&account.info.code_hash).copied());
    }
    out
}

/// Append the codes of accounts; returns the index of each by its hash, from one.
pub fn dump_codes<'a>(out: &mut Vec<u8>, accounts: impl Iterator<Item = &'a Merged>) -> HashMap<B256, u32> {
    let mut codes = BTreeMap::new();
    for account in accounts {
        if let Some(code) = account.info.code.as_ref().filter(|code| !code.is_empty()) {
            codes.entry(account.info.code_hash).or_insert_with(|| code.original_bytes());
        }
    }
    out.extend_from_slice(&(codes.len() as u32).to_be_bytes());
    for code in codes.values() {
        out.extend_from_slice(&(code.len() as u32).to_be_bytes());
        out.extend_from_slice(code);
    }
    codes.into_keys().zip(1..).collect()
}

pub fn dump_account(out: &mut Vec<u8>, address: &Address, account: &Merged, code: Option<u32>) {
    out.extend_from_slice(address.as_slice());
    out.extend_from_slice(&account.info.balance.to_be_bytes::<32>());
    out.extend_from_slice(&account.info.nonce.to_be_bytes());
    out.extend_from_slice(&code.unwrap_or(0).to_be_bytes());
    out.push(account.complete as u8);
    out.extend_from_slice(&(account.slots.len() as u32).to_be_bytes());
    let mut slots: Vec<_> = account.slots.iter().collect();
    slots.sort_unstable();
    for (key, value) in slots {
        out.extend_from_slice(&key.to_be_bytes::<32>());
        out.extend_from_slice(&value.to_be_bytes::<32>());
    }
}

pub fn dump_block(out: &mut Vec<u8>, block: &BlockEnv) {
    out.extend_from_slice(&block.number.to_be_bytes::<32>());
    out.extend_from_slice(&block.timestamp.to_be_bytes::<32>());
    out.extend_from_slice(block.beneficiary.as_slice());
    out.extend_from_slice(&block.gas_limit.to_be_bytes());
    out.extend_from_slice(&block.basefee.to_be_bytes());
    out.extend_from_slice(&block.difficulty.to_be_bytes::<32>());
    out.push(block.prevrandao.is_some() as u8);
    out.extend_from_slice(block.prevrandao.unwrap_or_default().as_slice());
    let blob = block.blob_excess_gas_and_price;
    out.push(blob.is_some() as u8);
    out.extend_from_slice(&blob.map_or(0, |b| b.excess_blob_gas).to_be_bytes());
    out.extend_from_slice(&blob.map_or(0, |b| b.blob_gasprice).to_be_bytes());
}

/// Reads bytes front to back; a read past the end is an error.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("dump ends at byte {} where {n} more were expected", self.bytes.len()))?;
        let part = &self.bytes[self.at..end];
        self.at = end;
        Ok(part)
    }
    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }
    fn flag(&mut self) -> Result<bool, String> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("dump holds flag {other} at byte {}", self.at - 1)),
        }
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_be_bytes(self.array()?))
    }
    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_be_bytes(self.array()?))
    }
    fn u256(&mut self) -> Result<U256, String> {
        Ok(U256::from_be_bytes(self.array::<32>()?))
    }
    fn address(&mut self) -> Result<Address, String> {
        Ok(Address::from(self.array::<20>()?))
    }
}

/// Rebuild a world. Refuses what `dump` would not have written: order, flags and code are checked.
pub fn load(bytes: &[u8]) -> Result<(Arc<World>, BlockEnv, SpecId), String> {
    let mut r = Reader { bytes, at: 0 };
    if r.take(4)? != MAGIC {
        return Err("these are not the bytes of a kernel dump".into());
    }
    let chain_id = r.u64()?;
    let closed = r.flag()?;
    let length = r.u8()? as usize;
    let name = std::str::from_utf8(r.take(length)?).map_err(|_| "hard fork name is not text".to_string())?;
    let spec = hardfork::parse(name)?;
    let block = load_block(&mut r)?;

    let mut base = Base::default();
    for _ in 0..r.u32()? {
        let number = r.u64()?;
        base.block_hashes.insert(number, B256::from(r.array::<32>()?));
    }
    let mut store = CodeStore::default();
    let mut codes = Vec::new();
    for _ in 0..r.u32()? {
        let length = r.u32()? as usize;
        let (hash, code) = store.intern(r.take(length)?)?;
        if codes.last().is_some_and(|(last, _)| *last >= hash) {
            return Err("codes are out of order".into());
        }
        codes.push((hash, code));
    }
    let mut last = None;
    for _ in 0..r.u32()? {
        let address = r.address()?;
        if last.replace(address).is_some_and(|last| last >= address) {
            return Err(format!("account {address} is out of order"));
        }
        let balance = r.u256()?;
        let nonce = r.u64()?;
        let mut info = AccountInfo { balance, nonce, ..Default::default() };
        let index = r.u32()? as usize;
        if index > 0 {
            let (hash, code) = codes.get(index - 1).ok_or_else(|| format!("account {address} names no code"))?;
            info.code_hash = *hash;
            info.code = Some(code.clone());
        }
        let complete = r.flag()?;
        let count = r.u32()? as usize;
        // 64 bytes each: a count beyond the rest of the bytes is a lie, not a reason to allocate.
        let mut slots = U256Map::with_capacity_and_hasher(count.min(bytes.len() / 64), Default::default());
        let mut last_key = None;
        for _ in 0..count {
            let key = r.u256()?;
            if last_key.replace(key).is_some_and(|last| last >= key) {
                return Err(format!("slot {key:#x} of account {address} is out of order"));
            }
            slots.insert(key, r.u256()?);
        }
        base.insert(BaseAccount { address, info, complete, slots });
    }
    if r.at != bytes.len() {
        return Err(format!("dump has {} bytes too many", bytes.len() - r.at));
    }
    Ok((World::new(chain_id, closed, base), block, spec))
}

fn load_block(r: &mut Reader<'_>) -> Result<BlockEnv, String> {
    let mut block = BlockEnv {
        number: r.u256()?,
        timestamp: r.u256()?,
        beneficiary: r.address()?,
        gas_limit: r.u64()?,
        basefee: r.u64()?,
        difficulty: r.u256()?,
        ..Default::default()
    };
    let has_prevrandao = r.flag()?;
    let prevrandao = B256::from(r.array::<32>()?);
    block.prevrandao = has_prevrandao.then_some(prevrandao);
    let has_blob = r.flag()?;
    let excess_blob_gas = r.u64()?;
    let blob_gasprice = u128::from_be_bytes(r.array()?);
    block.blob_excess_gas_and_price = has_blob.then_some(BlobExcessGasAndPrice { excess_blob_gas, blob_gasprice });
    Ok(block)
}
