//! What a replayed transaction reads: its calldata, its sender, the block and the state below it.

use revm::primitives::{Address, U256};

use super::super::views::reader::Reader;
use crate::{
    hashes::Hashes,
    trace::{BlockField, Field, Surroundings, Unread},
};

pub struct Sight<'a> {
    pub reader: Reader<'a>,
    /// The input after the words of the calldata.
    pub sender: U256,
    pub words: usize,
    pub hashes: &'a mut Hashes,
}

impl Surroundings for Sight<'_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        if at as usize == self.words { self.sender } else { self.reader.input(at) }
    }

    #[inline]
    fn block(&self, field: BlockField) -> U256 {
        self.reader.block(field)
    }

    #[inline]
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        self.reader.slot(account, key)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        self.reader.account(field, address)
    }

    fn hash(&mut self, bytes: &[u8]) -> U256 {
        self.hashes.of_bytes(bytes)
    }
}
