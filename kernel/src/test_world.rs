//! Worlds for tests: some accounts with code, and nothing else.

use std::sync::Arc;

use revm::{
    context::BlockEnv,
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{Address, B256, U256, U256Map, hardfork::SpecId},
};

use crate::{
    machine::{Failure, Machine, Rules, Settings, with_row},
    storage::{
        overlay::{Overlay, Row},
        world::{Base, BaseAccount, World, info_with_code},
    },
};

/// The address whose bytes are all the same.
pub fn address(byte: u8) -> Address {
    Address::repeat_byte(byte)
}

/// Where a contract is, its code, and its slots.
pub type Contract<'a> = (Address, &'a [u8], &'a [(u64, u64)]);

/// A closed world of contracts.
pub fn world(contracts: &[Contract<'_>]) -> Arc<World> {
    let mut base = Base::default();
    for (address, code, slots) in contracts {
        let slots: U256Map<U256> = slots.iter().map(|(key, value)| (U256::from(*key), U256::from(*value))).collect();
        let info = info_with_code(U256::ZERO, 1, code).expect("code");
        base.insert(BaseAccount { address: *address, info, complete: true, slots });
    }
    World::new(1, true, base)
}

pub fn row() -> Row {
    let block = BlockEnv {
        number: U256::from(1_000),
        timestamp: U256::from(50_000),
        prevrandao: Some(B256::ZERO),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: 1 }),
        ..BlockEnv::default()
    };
    Row { overlay: Overlay::default(), block }
}

pub fn settings() -> Settings {
    Settings { spec: SpecId::OSAKA, chain_id: 1, rules: Rules::SIMULATION }
}

/// Let `f` use a row.
pub fn on<R>(
    world: &Arc<World>,
    row: &mut Row,
    f: impl FnOnce(&mut Machine, &mut BlockEnv) -> Result<R, Failure>,
) -> Result<R, Failure> {
    with_row(world, row, &settings(), false, f)
}

pub fn slot(world: &Arc<World>, row: &mut Row, address: Address, key: u64) -> U256 {
    on(world, row, |machine, _| machine.read_slot(address, U256::from(key))).expect("a slot")
}
