//! What a replay reads: the calldata, the block and the state of the row it runs on.

use revm::{
    Database,
    primitives::{Address, U256, keccak256},
};

use super::graph::{BlockField, Field};
use crate::storage::database::{Miss, RowDatabase};

/// A value, possibly missing, that only the interpreter can read.
#[derive(Debug)]
pub struct Unread;

impl From<Miss> for Unread {
    fn from(_: Miss) -> Self {
        Self
    }
}

/// Where the values of a graph's leaves come from.
pub trait Surroundings {
    fn input(&self, at: u32) -> U256;
    fn block(&self, field: BlockField) -> U256;
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread>;
    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread>;

    fn place(&mut self, _number: u32, account: Address, key: U256) -> Result<U256, Unread> {
        self.slot(account, key)
    }

    fn hash(&mut self, bytes: &[u8]) -> U256 {
        keccak256(bytes).into()
    }
}

/// A view: calldata by byte, on a state that does not change.
pub struct View<'a> {
    pub data: &'a [u8],
    pub sender: Address,
    pub database: &'a mut RowDatabase,
}

impl Surroundings for View<'_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        input_word(self.data, at as usize)
    }

    /// The block is one and the same for a batch of views: nothing asks for it.
    fn block(&self, _field: BlockField) -> U256 {
        U256::ZERO
    }

    #[inline]
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        Ok(self.database.storage(account, key)?)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        read_account(field, address, self.sender, self.database)
    }
}

fn input_word(data: &[u8], at: usize) -> U256 {
    let mut word = [0; 32];
    let given = &data[at.min(data.len())..data.len().min(at + 32)];
    word[..given.len()].copy_from_slice(given);
    U256::from_be_bytes(word)
}

pub fn read_account(field: Field, word: U256, sender: Address, database: &mut RowDatabase) -> Result<U256, Unread> {
    let address = Address::from_word(word.into());
    // The call itself raises the sender's nonce: only the interpreter sees whether the account is there.
    if field == Field::CodeHash && address == sender {
        return Err(Unread);
    }
    let info = database.basic(address)?.unwrap_or_default();
    Ok(match field {
        Field::Balance => info.balance,
        // Code of which only the hash is known is the interpreter's to report.
        Field::CodeSize => U256::from(info.code.as_ref().ok_or(Unread)?.len()),
        Field::CodeHash if info.is_empty() => U256::ZERO,
        Field::CodeHash => info.code_hash.into(),
    })
}
