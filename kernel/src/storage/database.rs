//! The database revm reads from: overlay over world. What is not known is an error that names it.

use std::{collections::BTreeSet, fmt, sync::Arc};

use revm::{
    Database,
    bytecode::Bytecode,
    database_interface::DBErrorMarker,
    primitives::{Address, B256, KECCAK_EMPTY, U256, keccak256},
    state::{AccountId, AccountInfo},
};

use super::{overlay::Overlay, world::World};
use crate::hashes::Hashes;

/// A piece of state that is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Miss {
    Account(Address),
    Slot(Address, U256),
    BlockHash(u64),
    /// A trie node on the way to an account or slot.
    Unproven(Address, Option<U256>, B256),
    /// The trie node that is left alone when an account or slot is removed.
    Unremovable(Address, Option<U256>, B256),
    /// A proven leaf that is no account or no slot.
    Malformed(Address, Option<U256>),
    /// The code of an account, by its hash.
    Code(Address, B256),
}

/// An account or slot in words.
struct Place<'a>(&'a Address, &'a Option<U256>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(address, None) => write!(f, "account {address}"),
            Self(address, Some(slot)) => write!(f, "{address} slot {slot:#x}"),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => write!(f, "state of account {address} is not in this world"),
            Self::Slot(address, slot) => write!(f, "state of {address} slot {slot:#x} is not in this world"),
            Self::BlockHash(number) => write!(f, "hash of block {number} is not in this world"),
            Self::Unproven(address, slot, node) => {
                write!(f, "state of {} is not proven: trie node {node} is missing", Place(address, slot))
            }
            Self::Unremovable(address, slot, node) => {
                let place = Place(address, slot);
                write!(f, "removal of {place} is not proven: trie node {node}, its only neighbour, is missing")
            }
            Self::Malformed(address, slot) => {
                write!(f, "state of {} is malformed in its trie", Place(address, slot))
            }
            Self::Code(address, hash) => write!(f, "code {hash} of account {address} is missing"),
        }
    }
}

impl std::error::Error for Miss {}
impl DBErrorMarker for Miss {}

pub struct RowDatabase {
    pub world: Arc<World>,
    pub overlay: Overlay,
    /// The writes of a row that several threads read at once; then `overlay` is empty and nothing writes.
    pub shared: Option<Arc<Overlay>>,
    /// In probe mode a miss reads as nothing and is noted, so that one run finds many; its result is never used.
    pub probe: bool,
    pub misses: BTreeSet<Miss>,
    /// Blocks whose hash was read.
    pub hashes_read: BTreeSet<u64>,
    /// What the interpreter need not hash again.
    pub hashes: Hashes,
}

impl RowDatabase {
    pub fn new(world: Arc<World>) -> Self {
        Self {
            world,
            overlay: Overlay::default(),
            shared: None,
            probe: false,
            misses: BTreeSet::new(),
            hashes_read: BTreeSet::new(),
            hashes: Hashes::default(),
        }
    }

    /// What was written over the world.
    #[inline]
    fn written(&self) -> &Overlay {
        self.shared.as_deref().unwrap_or(&self.overlay)
    }

    #[cold]
    fn miss<T: Default>(&mut self, miss: Miss) -> Result<T, Miss> {
        if self.probe {
            self.misses.insert(miss);
            Ok(T::default())
        } else {
            Err(miss)
        }
    }

    /// A written account's info with the code of this database's world, which may be another thread's than the writer's.
    fn with_own_code(&self, info: &AccountInfo) -> AccountInfo {
        let base = info.account_id.and_then(|id| self.world.base.by_id(id));
        match base.filter(|base| base.info.code_hash == info.code_hash) {
            Some(base) => AccountInfo { code: base.info.code.clone(), ..*info },
            None => info.clone(),
        }
    }

    /// Read a slot of an account that the overlay does not decide.
    #[inline]
    fn slot_below(&mut self, address: Address, key: U256) -> Result<U256, Miss> {
        let found = self.world.account(&address, |account| match account.slots.get(&key) {
            Some(value) => Some(*value),
            None if account.complete => Some(U256::ZERO),
            None => None,
        });
        match found {
            Some(Some(value)) => Ok(value),
            None if self.world.closed => Ok(U256::ZERO),
            _ => self.proven_slot(address, key),
        }
    }

    /// Read a slot that is not known yet from the proofs of the world, if it has any.
    #[cold]
    fn proven_slot(&mut self, address: Address, key: U256) -> Result<U256, Miss> {
        match self.world.prove_slot(address, key) {
            Some(Ok(value)) => Ok(value),
            Some(Err(miss)) => self.miss(miss),
            None => self.miss(Miss::Slot(address, key)),
        }
    }

    /// Read a slot that no replay has written, or that was brought over since.
    #[inline]
    pub fn stored(&mut self, address: Address, key: U256) -> Result<U256, Miss> {
        match self.slot_in_overlay(&address, &key) {
            Some(value) => Ok(value),
            None => self.slot_below(address, key),
        }
    }

    #[inline]
    fn slot_in_overlay(&self, address: &Address, key: &U256) -> Option<U256> {
        let account = self.written().get(address)?;
        match account.slots.get(key) {
            Some(value) => Some(*value),
            None if account.cleared => Some(U256::ZERO),
            None => None,
        }
    }
}

impl Database for RowDatabase {
    type Error = Miss;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Miss> {
        if let Some(account) = self.written().get(&address) {
            return Ok((!account.destroyed).then(|| self.with_own_code(&account.info)));
        }
        match self.world.account(&address, |account| account.info.clone()) {
            Some(info) => Ok(Some(info)),
            None if self.world.closed => Ok(None),
            None => match self.world.prove_account(address) {
                Some(Ok(info)) => Ok(Some(info)),
                Some(Err(miss)) => self.miss(miss),
                None => self.miss(Miss::Account(address)),
            },
        }
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, Miss> {
        // `basic` hands the code over, so revm asks only for the empty one, or for code that a proof lacks.
        if code_hash == KECCAK_EMPTY {
            return Ok(Bytecode::default());
        }
        let address = self.world.address_with_code(&code_hash);
        self.miss(Miss::Code(address.unwrap_or_default(), code_hash))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Miss> {
        self.overlay.flush();
        self.stored(address, key)
    }

    #[inline]
    fn storage_by_account_id(&mut self, address: Address, id: AccountId, key: U256) -> Result<U256, Miss> {
        self.overlay.flush();
        if let Some(value) = self.slot_in_overlay(&address, &key) {
            return Ok(value);
        }
        // Ids of learnt accounts point into another table: the address decides.
        if let Some(account) = self.world.base.by_id(id).filter(|account| account.address == address) {
            return match account.slots.get(&key) {
                Some(value) => Ok(*value),
                None if account.complete => Ok(U256::ZERO),
                None => self.proven_slot(address, key),
            };
        }
        self.slot_below(address, key)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Miss> {
        if self.world.proven.is_some() {
            self.hashes_read.insert(number);
        }
        if let Some(hash) = self.world.base.block_hashes.get(&number) {
            return Ok(*hash);
        }
        let known = {
            let learnt = self.world.learnt.read().unwrap_or_else(|e| e.into_inner());
            learnt.block_hashes.get(&number).copied()
        };
        match known {
            Some(hash) => Ok(hash),
            // A replica has no ancestors: their hashes are invented, the same in every run.
            None if self.world.closed => Ok(keccak256(number.to_be_bytes())),
            None => self.miss(Miss::BlockHash(number)),
        }
    }
}
