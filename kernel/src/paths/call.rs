//! A call with holes, and what an account reads while its path is followed.

use revm::{
    Database,
    context::{BlockEnv, TxEnv},
    primitives::{Address, Bytes, HashSet, TxKind, U256},
};

use crate::{
    evm::transaction,
    storage::database::RowDatabase,
    trace::{BlockField, Expression, Field, Surroundings, Unread, read_account},
};

/// A slot of an account.
pub type Slot = (Address, U256);

/// A call with holes, and what scenarios change.
pub struct Call {
    pub to: Address,
    pub sender: Address,
    pub gas: u64,
    pub data: Vec<u8>,
    pub offsets: Vec<usize>,
    pub slots: Vec<Slot>,
    /// Whether the time of the block differs too; it is the last column of a scenario.
    pub timestamp: bool,
    /// Words of the output that are wanted; `None`: all that the call leaves behind, and all that it depends on.
    pub returns: Option<usize>,
}

impl Call {
    pub fn transaction(&self, holes: &[U256]) -> TxEnv {
        let mut data = self.data.clone();
        for (offset, hole) in self.offsets.iter().zip(holes) {
            data[*offset..offset + 32].copy_from_slice(&hole.to_be_bytes::<32>());
        }
        TxEnv {
            caller: self.sender,
            gas_limit: self.gas,
            kind: TxKind::Call(self.to),
            data: Bytes::from(data),
            ..transaction(TxKind::Call(self.to), &[], None, U256::ZERO, None, 0, None, 0)
        }
    }

    /// The column of a scenario that an expression is.
    pub fn column(&self, expression: &Expression) -> Option<usize> {
        match expression {
            Expression::Place(_, account, key) => self.slots.iter().position(|slot| *slot == (*account, *key)),
            Expression::Block(BlockField::Timestamp) if self.timestamp => Some(self.slots.len()),
            _ => None,
        }
    }
}

/// What an account reads while its path is followed.
pub struct Account<'a> {
    pub holes: &'a [U256],
    pub block: &'a BlockEnv,
    pub sender: Address,
    pub database: &'a mut RowDatabase,
    pub changing: &'a HashSet<Slot>,
}

impl Surroundings for Account<'_> {
    fn input(&self, at: u32) -> U256 {
        self.holes[at as usize]
    }

    fn block(&self, field: BlockField) -> U256 {
        match field {
            BlockField::Timestamp => self.block.timestamp,
            BlockField::Number => self.block.number,
            BlockField::BaseFee => U256::from(self.block.basefee),
        }
    }

    /// A computed slot must not be one that scenarios change: its value here says nothing about theirs.
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        if self.changing.contains(&(account, key)) {
            return Err(Unread);
        }
        Ok(self.database.storage(account, key)?)
    }

    fn place(&mut self, _number: u32, account: Address, key: U256) -> Result<U256, Unread> {
        Ok(self.database.storage(account, key)?)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        read_account(field, address, self.sender, self.database)
    }
}
