//! What tells a row from the world below it, as one hash: rows that stand at the same state have the same.

use revm::{
    primitives::{Address, U256},
    state::AccountInfo,
};
use sha2::{Digest, Sha256};

use crate::{
    dump::dump_block,
    overlay::{OverlayAccount, Row},
    world::World,
};

/// SHA-256 of the block and of every account and slot that is not as it is below. A value that was written back to what
/// it was leaves no trace, so two courses of events that end alike have one identity.
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
    let (same_info, covers, mut slots) = world
        .account(address, |below| {
            let covers = account.cleared && !(below.complete && below.slots.is_empty());
            let as_below = |key: &U256| match below.slots.get(key) {
                Some(value) if !account.cleared => Some(*value),
                None if !account.cleared && !below.complete => None,
                _ => Some(U256::ZERO),
            };
            let slots = changed(account, as_below);
            (alike(&below.info, &account.info), covers, slots)
        })
        .unwrap_or_else(|| {
            // In a closed world an empty account and none at all are the same thing.
            let absent = world.closed && account.info.is_empty();
            (absent, account.cleared && !world.closed, changed(account, |_| world.closed.then_some(U256::ZERO)))
        });
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

/// The slots whose value is not the one `below`; where that is unknown, every slot that was written.
fn changed(account: &OverlayAccount, below: impl Fn(&U256) -> Option<U256>) -> Vec<(U256, U256)> {
    let differs = |(key, value): &(&U256, &U256)| below(key) != Some(**value);
    account.slots.iter().filter(differs).map(|(key, value)| (*key, *value)).collect()
}
