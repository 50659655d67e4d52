//! Hash of a row's difference from the world below: rows with equal states have equal hashes.

use revm::{
    primitives::{Address, U256},
    state::AccountInfo,
};
use sha2::{Digest, Sha256};

use super::{
    dump::dump_block,
    overlay::{OverlayAccount, Row},
    world::World,
};

/// SHA-256 of the block and of every account and slot that is not as it is below. In a closed world a value that was
/// written back to what it was leaves no trace, so two courses of events that end alike have one identity. What lies
/// below an open one may be learnt at any time, which must change no identity: there everything written counts.
pub fn identity(world: &World, row: &Row) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(4096);
    dump_block(&mut bytes, &row.block);
    let mut written: Vec<_> = row.overlay.iter().collect();
    written.sort_unstable_by_key(|(address, _)| **address);
    for (address, account) in written {
        dump_change(&mut bytes, world, address, account);
    }
    Sha256::digest(&bytes).into()
}

fn dump_change(out: &mut Vec<u8>, world: &World, address: &Address, account: &OverlayAccount) {
    let below = if world.closed { world.base.get(address) } else { None };
    let value_below = |key: &U256| match below {
        Some(below) if !account.cleared => below.slots.get(key).copied().or(below.complete.then_some(U256::ZERO)),
        _ => Some(U256::ZERO),
    };
    let written = account.slots.iter().map(|(key, value)| (*key, *value));
    let mut slots: Vec<_> = written.filter(|(key, value)| !world.closed || value_below(key) != Some(*value)).collect();
    // In a closed world an empty account equals an absent one.
    let same_info = below.map_or(world.closed && account.info.is_empty(), |below| alike(&below.info, &account.info));
    let covers = account.cleared && below.map_or(!world.closed, |below| !(below.complete && below.slots.is_empty()));
    if same_info && !covers && !account.destroyed && slots.is_empty() {
        return;
    }
    out.extend_from_slice(address.as_slice());
    out.extend_from_slice(&account.info.balance.to_be_bytes::<32>());
    out.extend_from_slice(&account.info.nonce.to_be_bytes());
    out.extend_from_slice(account.info.code_hash.as_slice());
    out.push(u8::from(account.destroyed) | u8::from(covers) << 1);
    out.extend_from_slice(&(slots.len() as u32).to_be_bytes());
    slots.sort_unstable();
    for (key, value) in slots {
        out.extend_from_slice(&key.to_be_bytes::<32>());
        out.extend_from_slice(&value.to_be_bytes::<32>());
    }
}

fn alike(one: &AccountInfo, other: &AccountInfo) -> bool {
    (one.balance, one.nonce, one.code_hash) == (other.balance, other.nonce, other.code_hash)
}
