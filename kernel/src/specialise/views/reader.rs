//! State below a batch of views, read without a machine: accounts are looked up once.

use revm::{
    context::BlockEnv,
    primitives::{Address, KECCAK_EMPTY, U256},
};

use crate::{
    hashes::Hashes,
    storage::{
        changes::Moment,
        overlay::{Overlay, OverlayAccount},
        world::{BaseAccount, World},
    },
    trace::{BlockField, Fact, Field, Surroundings, Unread},
};

/// Something that a recording has read as a constant.
pub type Place = Fact;

/// An account as written and as it was before.
#[derive(Clone, Copy)]
struct Known<'a> {
    address: Address,
    written: Option<&'a OverlayAccount>,
    below: Option<&'a BaseAccount>,
}

/// Reads slots of a closed world under a row's writes, for the call whose calldata it is given.
#[derive(Clone)]
pub struct Reader<'a> {
    world: &'a World,
    overlay: &'a Overlay,
    block: &'a BlockEnv,
    known: Vec<Known<'a>>,
    holes: &'a [usize],
    pub data: &'a [u8],
}

/// Whether two addresses are equal, without a call.
#[inline]
fn is_same(one: &Address, other: &Address) -> bool {
    let halves = |address: &Address| address.first_chunk::<16>().copied().map(u128::from_ne_bytes);
    halves(one) == halves(other) && one.last_chunk::<4>() == other.last_chunk::<4>()
}

impl<'a> Reader<'a> {
    pub fn new(world: &'a World, overlay: &'a Overlay, block: &'a BlockEnv, holes: &'a [usize]) -> Self {
        Self { world, overlay, block, known: Vec::new(), holes, data: &[] }
    }

    #[inline]
    fn account_at(&mut self, address: Address) -> Known<'a> {
        if let Some(known) = self.known.iter().find(|known| is_same(&known.address, &address)) {
            return *known;
        }
        let known = Known { address, written: self.overlay.get(&address), below: self.world.base.get(&address) };
        self.known.push(known);
        known
    }

    /// This moment; none where writes are not noted.
    pub fn now(&self) -> Option<Moment> {
        self.overlay.changes.now()
    }

    /// Marks of the slots that were written since then, where that is known.
    pub fn written_since(&self, then: Moment) -> Option<&'a [u64]> {
        self.overlay.changes.since(then)
    }

    /// Whether any slot of an account was written over the world.
    #[inline]
    pub fn is_written(&mut self, address: Address) -> bool {
        self.account_at(address).written.is_some_and(|account| account.cleared || !account.slots.is_empty())
    }

    /// The value of a slot that was written over the world.
    #[inline]
    pub fn written(&mut self, address: Address, key: U256) -> Option<U256> {
        let written = self.account_at(address).written?;
        match written.slots.get(&key) {
            Some(value) => Some(*value),
            None => written.cleared.then_some(U256::ZERO),
        }
    }

    /// The value of a slot in the world, which never changes.
    pub fn below(&mut self, address: Address, key: U256) -> Result<U256, Unread> {
        let Some(below) = self.account_at(address).below else { return Ok(U256::ZERO) };
        match below.slots.get(&key) {
            Some(value) => Ok(*value),
            None if below.complete => Ok(U256::ZERO),
            None => Err(Unread),
        }
    }

    /// The value of a slot, or the hash of a code.
    pub fn fact(&mut self, place: &Place) -> Result<U256, Unread> {
        match *place {
            Fact::Slot(address, key) => self.slot(address, key),
            Fact::Code(address) => {
                let account = self.account_at(address);
                let hash = match (account.written, account.below) {
                    (Some(written), _) if written.destroyed => KECCAK_EMPTY,
                    (Some(written), _) => written.info.code_hash,
                    (None, Some(below)) => below.info.code_hash,
                    (None, None) => KECCAK_EMPTY,
                };
                Ok(hash.into())
            }
            Fact::Storage(address) => {
                let cleared = self.account_at(address).written.is_some_and(|account| account.cleared);
                Ok(U256::from(cleared))
            }
        }
    }
}

impl Surroundings for Reader<'_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        let from = self.holes[at as usize];
        U256::from_be_slice(&self.data[from..from + 32])
    }

    #[inline]
    fn block(&self, field: BlockField) -> U256 {
        match field {
            BlockField::Timestamp => self.block.timestamp,
            BlockField::Number => self.block.number,
            BlockField::BaseFee => U256::from(self.block.basefee),
        }
    }

    #[inline]
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        match self.written(account, key) {
            Some(value) => Ok(value),
            None => self.below(account, key),
        }
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        // Codes are facts; balances are all that a recording of this kind asks for.
        if field != Field::Balance {
            return Err(Unread);
        }
        let account = self.account_at(Address::from_word(address.into()));
        Ok(match (account.written, account.below) {
            (Some(written), _) if written.destroyed => U256::ZERO,
            (Some(written), _) => written.info.balance,
            (None, Some(below)) => below.info.balance,
            (None, None) => U256::ZERO,
        })
    }
}

/// The same with a memory for hashes.
pub struct Remembering<'r, 'a> {
    pub reader: &'r mut Reader<'a>,
    pub hashes: &'r mut Hashes,
}

impl Surroundings for Remembering<'_, '_> {
    #[inline]
    fn input(&self, at: u32) -> U256 {
        self.reader.input(at)
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
