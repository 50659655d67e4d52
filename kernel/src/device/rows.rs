//! Rows of a fleet on the processor from and to the planes of a device.

use std::sync::Arc;

use revm::{
    context::BlockEnv,
    primitives::{Address, U256},
};

use super::layout::{Chain, Kept};
use crate::{
    machine::{Failure, Machine, Settings, with_row},
    storage::{overlay::Row, world::World},
    trace::BlockField,
};

/// The world of rows and how transactions run there.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub world: &'a Arc<World>,
    pub settings: &'a Settings,
}

fn slot(machine: &mut Machine, number: u32, address: Address, key: U256) -> Result<U256, Failure> {
    match machine.overlay().plane.get(number) {
        Some(value) => Ok(value),
        None => machine.read_slot(address, key),
    }
}

fn limb(value: U256, what: &str) -> Result<u64, Failure> {
    u64::try_from(value).map_err(|_| Failure::Internal(format!("{what} of a row has more than 64 bits")))
}

/// What a row keeps of `wanted`, as limbs.
pub fn read(ground: Ground<'_>, row: &mut Row, wanted: &[Kept], limbs: &mut Vec<u64>) -> Result<(), Failure> {
    with_row(ground.world, row, ground.settings, false, |machine, block| {
        for kept in wanted {
            match *kept {
                Kept::Block(BlockField::Number) => limbs.push(limb(block.number, "the block")?),
                Kept::Block(BlockField::Timestamp) => limbs.push(limb(block.timestamp, "the time")?),
                Kept::Block(BlockField::BaseFee) => limbs.push(block.basefee),
                Kept::Nonce(address) => limbs.push(machine.read_info(address)?.nonce),
                Kept::Balance(address) => limbs.extend_from_slice(machine.read_info(address)?.balance.as_limbs()),
                Kept::Slot(number, address, key) => {
                    limbs.extend_from_slice(slot(machine, number, address, key)?.as_limbs());
                }
            }
        }
        Ok(())
    })
}

/// Let a row keep these limbs.
pub fn write(ground: Ground<'_>, row: &mut Row, wanted: &[Kept], limbs: &[u64]) -> Result<(), Failure> {
    with_row(ground.world, row, ground.settings, false, |machine, block| {
        let mut at = 0;
        for kept in wanted {
            put(machine, block, *kept, &limbs[at..])?;
            at += kept.width() as usize;
        }
        Ok(())
    })
}

fn put(machine: &mut Machine, block: &mut BlockEnv, kept: Kept, limbs: &[u64]) -> Result<(), Failure> {
    match kept {
        Kept::Block(BlockField::Number) => block.number = U256::from(limbs[0]),
        Kept::Block(BlockField::Timestamp) => block.timestamp = U256::from(limbs[0]),
        Kept::Block(BlockField::BaseFee) => block.basefee = limbs[0],
        Kept::Nonce(address) => {
            let mut info = machine.read_info(address)?;
            if info.nonce != limbs[0] {
                info.nonce = limbs[0];
                machine.overlay().set_info(address, info);
            }
        }
        // As at the start of the row, which has been copied.
        Kept::Balance(_) => {}
        Kept::Slot(number, address, key) => {
            let value = U256::from_limbs_slice(&limbs[..4]);
            if slot(machine, number, address, key)? != value {
                machine.bring_in(address)?;
                machine.overlay().set_numbered(Some(number), address, key, value);
            }
        }
    }
    Ok(())
}

/// What a row has changed since its start and the device does not keep: accounts, and the key of a slot or, for the
/// nonce, none.
pub fn strays(
    ground: Ground<'_>,
    chain: &Chain,
    start: &mut Row,
    row: &mut Row,
) -> Result<Vec<(Address, Option<U256>)>, Failure> {
    row.overlay.flush();
    let mut found = Vec::new();
    with_row(ground.world, start, ground.settings, false, |machine, _| {
        machine.overlay().flush();
        for (address, account) in row.overlay.iter() {
            let before = machine.read_info(*address)?;
            if (before.balance, before.code_hash) != (account.info.balance, account.info.code_hash) || account.cleared {
                return Err(Failure::Internal(format!("{address} has changed in a way that a device does not keep")));
            }
            if before.nonce != account.info.nonce && !chain.all.contains(&Kept::Nonce(*address)) {
                found.push((*address, None));
            }
            for (key, value) in &account.slots {
                if chain.has_slot(*address, *key) || machine.read_stored(*address, *key)? == *value {
                    continue;
                }
                found.push((*address, Some(*key)));
            }
        }
        Ok(())
    })?;
    Ok(found)
}
