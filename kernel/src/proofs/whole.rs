//! The state root of a world known in full, with what was written over it.

use alloy_rlp::Encodable;
use alloy_trie::{HashBuilder, Nibbles, TrieAccount};
use revm::{
    primitives::{B256, U256, U256Map, keccak256},
    state::AccountInfo,
};

use super::proven::slot_key;
use crate::storage::{overlay::Overlay, world::World};

/// The state root after the writes. Where empty accounts do not exist (EIP-161), those that were touched are left out.
pub fn root_of(world: &World, overlay: &Overlay, clear_empty: bool) -> B256 {
    let untouched = world.base.iter().filter(|account| overlay.get(&account.address).is_none());
    let mut leaves: Vec<(B256, Vec<u8>)> =
        untouched.map(|account| (keccak256(account.address), leaf(&account.info, &account.slots))).collect();
    for (address, account) in overlay.iter() {
        if account.destroyed || (clear_empty && account.info.is_empty()) {
            continue;
        }
        let below = world.base.get(address).filter(|_| !account.cleared);
        let mut slots = below.map(|below| below.slots.clone()).unwrap_or_default();
        slots.extend(account.slots.iter().map(|(key, value)| (*key, *value)));
        leaves.push((keccak256(address), leaf(&account.info, &slots)));
    }
    root(leaves)
}

fn leaf(info: &AccountInfo, slots: &U256Map<U256>) -> Vec<u8> {
    let values = slots.iter().filter(|(_, value)| !value.is_zero());
    let encoded = values.map(|(key, value)| {
        let mut encoded = Vec::with_capacity(33);
        value.encode(&mut encoded);
        (slot_key(*key), encoded)
    });
    alloy_rlp::encode(TrieAccount::new(info.nonce, info.balance, root(encoded.collect()), info.code_hash))
}

fn root(mut leaves: Vec<(B256, Vec<u8>)>) -> B256 {
    leaves.sort_unstable();
    let mut builder = HashBuilder::default();
    for (key, value) in &leaves {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}

#[cfg(test)]
mod tests {
    use revm::primitives::{Address, address, b256};

    use super::*;
    use crate::{
        proofs::proven::Proven,
        storage::world::{Base, BaseAccount, info_with_code},
    };

    const HOLDER: Address = address!("1000000000000000000000000000000000000001");
    const TOKEN: Address = address!("2000000000000000000000000000000000000002");
    const EMPTY: Address = address!("3000000000000000000000000000000000000003");
    const FRESH: Address = address!("4000000000000000000000000000000000000004");

    fn world() -> std::sync::Arc<World> {
        let mut base = Base::default();
        for (address, balance, code) in [(HOLDER, 7_u64, &[][..]), (TOKEN, 0, &[0_u8, 1]), (EMPTY, 0, &[])] {
            let slots = (1..4).map(|key| (U256::from(key), U256::from(key / 2)));
            let slots = if code.is_empty() { U256Map::default() } else { slots.collect() };
            let info = info_with_code(U256::from(balance), 0, code).unwrap();
            base.insert(BaseAccount { address, info, complete: true, slots });
        }
        World::new(1, true, base)
    }

    fn plain(balance: u64) -> AccountInfo {
        info_with_code(U256::from(balance), 0, &[]).unwrap()
    }

    #[test]
    fn nothing_has_the_root_of_the_empty_trie() {
        let nothing = World::new(1, true, Base::default());
        let empty = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
        assert_eq!(root_of(&nothing, &Overlay::default(), true), empty);
    }

    #[test]
    fn writes_lead_to_the_root_that_trie_nodes_prove() {
        // The trie of the holder alone is one leaf: a witness of it can be written down.
        let mut base = Base::default();
        base.insert(BaseAccount { address: HOLDER, info: plain(7), complete: true, slots: U256Map::default() });
        let world = World::new(1, true, base);
        let before = root_of(&world, &Overlay::default(), true);
        let key = Nibbles::unpack(keccak256(HOLDER));
        let mut node = Vec::new();
        alloy_trie::nodes::LeafNodeRef::new(&key, &leaf(&plain(7), &U256Map::default())).rlp(&mut node);
        let proven = Proven::new(before, [&node[..]], []).unwrap();

        let mut overlay = Overlay::default();
        overlay.set_info(HOLDER, plain(5));
        overlay.set_info(FRESH, info_with_code(U256::from(2), 1, &[0, 9]).unwrap());
        for key in 1..40 {
            overlay.set_slot(FRESH, U256::from(key), U256::from(key % 7));
        }
        overlay.set_info(EMPTY, plain(0));
        let after = root_of(&world, &overlay, true);
        assert_eq!(after, proven.root_after(&overlay, true).unwrap());
        assert_ne!(after, before);
    }

    #[test]
    fn an_empty_account_is_removed_when_it_is_touched() {
        let world = world();
        let before = root_of(&world, &Overlay::default(), true);
        let mut overlay = Overlay::default();
        overlay.set_info(FRESH, plain(0));
        assert_eq!(root_of(&world, &overlay, true), before); // was not there, and is not
        overlay.set_info(EMPTY, plain(0));
        assert_ne!(root_of(&world, &overlay, true), before); // was there, and is gone
        let mut overlay = Overlay::default();
        overlay.set_info(EMPTY, plain(0));
        assert_eq!(root_of(&world, &overlay, false), before); // before EIP-161 it stays
    }

    #[test]
    fn slots_below_show_through_unless_they_are_cleared_or_zero() {
        let world = world();
        let before = root_of(&world, &Overlay::default(), true);
        let info = world.base.get(&TOKEN).unwrap().info.clone();
        let mut overlay = Overlay::default();
        overlay.set_info(TOKEN, info.clone());
        overlay.set_slot(TOKEN, U256::from(8), U256::ZERO);
        assert_eq!(root_of(&world, &overlay, true), before);
        overlay.set_slot(TOKEN, U256::from(2), U256::ZERO);
        overlay.set_slot(TOKEN, U256::from(3), U256::ZERO);
        let emptied = root_of(&world, &overlay, true);
        let mut overlay = Overlay::default();
        overlay.set_info(TOKEN, info);
        overlay.clear_storage(TOKEN);
        assert_eq!(root_of(&world, &overlay, true), emptied);
        assert_ne!(emptied, before);
    }
}
