//! A row as a replay sees it: holes of the calldata, block and state; and how a replayed transaction is kept in it.

use revm::{
    Database,
    context::BlockEnv,
    primitives::{Address, U256},
};

use crate::{
    storage::{
        database::{Miss, RowDatabase},
        plane::Plane,
    },
    trace::{BlockField, Ending, Fact, Field, Places, Surroundings, Unread, Values, Watch, read_account},
};

pub struct RowView<'a> {
    /// Words of the calldata that vary.
    pub holes: &'a [U256],
    pub block: &'a BlockEnv,
    pub sender: Address,
    pub database: &'a mut RowDatabase,
    pub places: &'a Places,
}

impl Surroundings for RowView<'_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        self.holes[at as usize]
    }

    #[inline]
    fn block(&self, field: BlockField) -> U256 {
        block_field(self.block, field)
    }

    #[inline]
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        let plane = &self.database.overlay.plane;
        // A slot that a replay has written has a number.
        if plane.is_dirty()
            && let Some(value) = self.places.find(account, key).and_then(|number| plane.get(number))
        {
            return Ok(value);
        }
        Ok(self.database.stored(account, key)?)
    }

    #[inline]
    fn place(&mut self, number: u32, account: Address, key: U256) -> Result<U256, Unread> {
        if let Some(value) = self.database.overlay.plane.get(number) {
            return Ok(value);
        }
        let value = self.database.stored(account, key)?;
        self.database.overlay.plane.learn(number, value);
        Ok(value)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        read_account(field, address, self.sender, self.database)
    }

    fn hash(&mut self, bytes: &[u8]) -> U256 {
        self.database.hashes.of_bytes(bytes)
    }
}

/// A row of which nothing is read but inputs, block and slots that it has at hand.
pub struct PlaneView<'a> {
    pub words: &'a [U256],
    pub block: &'a BlockEnv,
    pub plane: &'a Plane,
}

impl Surroundings for PlaneView<'_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        self.words[at as usize]
    }

    #[inline]
    fn block(&self, field: BlockField) -> U256 {
        block_field(self.block, field)
    }

    #[inline]
    fn place(&mut self, number: u32, _account: Address, _key: U256) -> Result<U256, Unread> {
        self.plane.get(number).ok_or(Unread)
    }

    fn slot(&mut self, _account: Address, _key: U256) -> Result<U256, Unread> {
        Err(Unread)
    }

    fn account(&mut self, _field: Field, _address: U256) -> Result<U256, Unread> {
        Err(Unread)
    }
}

#[inline]
fn block_field(block: &BlockEnv, field: BlockField) -> U256 {
    match field {
        BlockField::Timestamp => block.timestamp,
        BlockField::Number => block.number,
        BlockField::BaseFee => U256::from(block.basefee),
    }
}

/// Keep the effects of a replayed transaction, as the interpreter's would be kept. Every ending has its own number.
pub fn keep(
    database: &mut RowDatabase,
    (number, ending): (u64, &Ending),
    values: &Values,
    sender: Address,
    noted: (&Watch, &Places),
) -> Result<(), Miss> {
    raise_nonce(database, sender, 1)?;
    keep_changes(database, (number, ending), values, noted)
}

/// An account has sent so many transactions.
pub fn raise_nonce(database: &mut RowDatabase, sender: Address, by: u64) -> Result<(), Miss> {
    if !database.overlay.raise_nonce(sender, by) {
        let mut info = database.basic(sender)?.unwrap_or_default();
        info.nonce = info.nonce.saturating_add(by);
        database.overlay.set_info(sender, info);
    }
    Ok(())
}

/// Keep the accounts and slots of an ending.
pub fn keep_changes(
    database: &mut RowDatabase,
    (number, ending): (u64, &Ending),
    values: &Values,
    (watch, places): (&Watch, &Places),
) -> Result<(), Miss> {
    if !database.overlay.plane.settle(number) {
        for address in &ending.touched {
            if !database.overlay.stands(address) {
                let info = database.basic(*address)?.unwrap_or_default();
                database.overlay.set_info(*address, info);
            }
        }
    }
    for (write, key, value) in ending.changes(values) {
        let place = write.place.or_else(|| {
            watch.change([Fact::Slot(write.address, key)]);
            places.find(write.address, key)
        });
        database.overlay.set_numbered(place, write.address, key, value);
    }
    Ok(())
}
