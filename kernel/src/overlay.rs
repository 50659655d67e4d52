//! Writes of a run, and nothing else: copying or resetting a row costs what it wrote.

use revm::{
    context::BlockEnv,
    primitives::{Address, AddressMap, U256, U256Map},
    state::{AccountInfo, EvmState},
};

#[derive(Clone, Debug)]
pub struct OverlayAccount {
    pub info: AccountInfo,
    /// Destroyed: before EIP-161 that differs from empty.
    pub destroyed: bool,
    /// Created or destroyed here: nothing of the storage below shows through.
    pub cleared: bool,
    pub slots: U256Map<U256>,
}

/// Values of slots that replays have read or written, by the slot's number: a copy of what the overlay and the world say.
/// Whatever else changes the overlay empties it.
#[derive(Clone, Debug, Default)]
pub struct Plane {
    values: Vec<U256>,
    known: Vec<bool>,
    /// Endings whose accounts are all in the overlay.
    settled: Vec<u64>,
}

impl Plane {
    #[inline]
    pub fn get(&self, number: u32) -> Option<U256> {
        match self.known.get(number as usize) {
            Some(true) => Some(self.values[number as usize]),
            _ => None,
        }
    }

    pub fn set(&mut self, number: u32, value: U256) {
        let at = number as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, false);
            self.values.resize(at + 1, U256::ZERO);
        }
        self.known[at] = true;
        self.values[at] = value;
    }

    /// Whether the ending was settled before; it is from now on.
    pub fn settle(&mut self, ending: u64) -> bool {
        if self.settled.contains(&ending) {
            return true;
        }
        self.settled.push(ending);
        false
    }

    #[inline]
    fn clear(&mut self) {
        self.known.fill(false);
        self.settled.clear();
    }
}

/// How to take one write back.
#[derive(Clone, Debug)]
enum Undo {
    /// The account was not in the overlay before.
    Absent(Address),
    /// The account's info before the write, and whether it was destroyed.
    Info(Address, AccountInfo, bool),
    /// The account's nonce before it was raised.
    Nonce(Address, u64),
    /// One slot before the write; `None` where it was not in the overlay.
    Slot(Address, U256, Option<U256>),
    /// The whole storage before it was cleared.
    Storage(Address, bool, U256Map<U256>),
}

#[derive(Clone, Debug)]
struct Mark {
    id: u64,
    undo_len: usize,
    block: BlockEnv,
}

/// Writes over a world, with a journal while snapshots are open.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    accounts: AddressMap<OverlayAccount>,
    undo: Vec<Undo>,
    marks: Vec<Mark>,
    next_mark: u64,
    pub plane: Plane,
}

impl Overlay {
    #[inline]
    pub fn get(&self, address: &Address) -> Option<&OverlayAccount> {
        // Most reads of a fresh row find nothing here: spare them the hash.
        if self.accounts.is_empty() { None } else { self.accounts.get(address) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Address, &OverlayAccount)> {
        self.accounts.iter()
    }

    #[inline]
    fn journaling(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Apply the changes of a transaction from revm's journal.
    pub fn apply(&mut self, state: EvmState) {
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            if account.is_selfdestructed() {
                self.clear_storage(address);
                self.put(address, AccountInfo::default(), true);
                continue;
            }
            if account.is_created() {
                self.set_info(address, account.info);
                self.clear_storage(address);
            } else {
                self.set_info(address, account.info);
            }
            for (key, slot) in account.storage {
                if slot.is_changed() {
                    self.set_slot(address, key, slot.present_value);
                }
            }
        }
    }

    pub fn set_info(&mut self, address: Address, info: AccountInfo) {
        self.put(address, info, false);
    }

    fn put(&mut self, address: Address, info: AccountInfo, destroyed: bool) {
        let journaling = self.journaling();
        match self.accounts.get_mut(&address) {
            Some(account) => {
                let info = std::mem::replace(&mut account.info, info);
                let destroyed = std::mem::replace(&mut account.destroyed, destroyed);
                if journaling {
                    self.undo.push(Undo::Info(address, info, destroyed));
                }
            }
            None => {
                self.accounts
                    .insert(address, OverlayAccount { info, destroyed, cleared: false, slots: U256Map::default() });
                if journaling {
                    self.undo.push(Undo::Absent(address));
                }
            }
        }
    }

    /// Raise an account's nonce by one; false if the account is not in the overlay.
    pub fn raise_nonce(&mut self, address: Address) -> bool {
        let journaling = self.journaling();
        let Some(account) = self.accounts.get_mut(&address).filter(|account| !account.destroyed) else { return false };
        if journaling {
            self.undo.push(Undo::Nonce(address, account.info.nonce));
        }
        account.info.nonce = account.info.nonce.saturating_add(1);
        true
    }

    /// The account must be in the overlay: its info is set first.
    pub fn set_slot(&mut self, address: Address, key: U256, value: U256) {
        self.plane.clear();
        self.write_slot(address, key, value);
    }

    /// The same by a replay, which knows whether the slot has a number.
    pub fn set_place(&mut self, number: Option<u32>, address: Address, key: U256, value: U256) {
        if let Some(number) = number {
            self.plane.set(number, value);
        }
        self.write_slot(address, key, value);
    }

    fn write_slot(&mut self, address: Address, key: U256, value: U256) {
        let journaling = self.journaling();
        if let Some(account) = self.accounts.get_mut(&address) {
            let before = account.slots.insert(key, value);
            if journaling {
                self.undo.push(Undo::Slot(address, key, before));
            }
        }
    }

    /// Forget the storage of an account and whatever lies below it.
    pub fn clear_storage(&mut self, address: Address) {
        self.plane.clear();
        let journaling = self.journaling();
        if !self.accounts.contains_key(&address) {
            self.set_info(address, AccountInfo::default());
        }
        if let Some(account) = self.accounts.get_mut(&address) {
            let cleared = std::mem::replace(&mut account.cleared, true);
            let slots = std::mem::take(&mut account.slots);
            if journaling {
                self.undo.push(Undo::Storage(address, cleared, slots));
            }
        }
    }

    pub fn snapshot(&mut self, block: &BlockEnv) -> u64 {
        let id = self.next_mark;
        self.next_mark += 1;
        self.marks.push(Mark { id, undo_len: self.undo.len(), block: block.clone() });
        id
    }

    pub fn last_snapshot(&self) -> Option<u64> {
        self.marks.last().map(|mark| mark.id)
    }

    pub fn has_snapshot(&self, id: u64) -> bool {
        self.marks.iter().any(|m| m.id == id)
    }

    /// Go back to a snapshot. It and every later one are closed. Returns the block environment of that moment.
    pub fn revert(&mut self, id: u64) -> Option<BlockEnv> {
        let at = self.marks.iter().position(|m| m.id == id)?;
        self.plane.clear();
        let mark = self.marks.swap_remove(at);
        self.marks.truncate(at);
        while self.undo.len() > mark.undo_len {
            match self.undo.pop()? {
                Undo::Absent(address) => {
                    self.accounts.remove(&address);
                }
                Undo::Info(address, info, destroyed) => {
                    if let Some(account) = self.accounts.get_mut(&address) {
                        account.info = info;
                        account.destroyed = destroyed;
                    }
                }
                Undo::Nonce(address, nonce) => {
                    if let Some(account) = self.accounts.get_mut(&address) {
                        account.info.nonce = nonce;
                    }
                }
                Undo::Slot(address, key, before) => {
                    if let Some(account) = self.accounts.get_mut(&address) {
                        match before {
                            Some(value) => account.slots.insert(key, value),
                            None => account.slots.remove(&key),
                        };
                    }
                }
                Undo::Storage(address, cleared, slots) => {
                    if let Some(account) = self.accounts.get_mut(&address) {
                        account.cleared = cleared;
                        account.slots = slots;
                    }
                }
            }
        }
        Some(mark.block)
    }

    /// Keep the writes since a snapshot, and close it and every later one.
    pub fn release(&mut self, id: u64) -> bool {
        let Some(at) = self.marks.iter().position(|m| m.id == id) else { return false };
        self.marks.truncate(at);
        if self.marks.is_empty() {
            self.undo.clear();
        }
        true
    }

    /// A copy of the writes without the snapshots, which belong to the original.
    pub fn without_snapshots(&self) -> Self {
        Self { accounts: self.accounts.clone(), ..Default::default() }
    }

    /// Bytes this overlay holds, counted from the tables' capacities.
    pub fn memory(&self) -> usize {
        let account = size_of::<(Address, OverlayAccount)>() + 1;
        let slot = size_of::<(U256, U256)>() + 1;
        self.accounts.capacity() * account
            + self.accounts.values().map(|a| a.slots.capacity() * slot).sum::<usize>()
            + self.undo.capacity() * size_of::<Undo>()
            + self.marks.capacity() * size_of::<Mark>()
            + self.plane.values.capacity() * (size_of::<U256>() + 1)
    }
}

/// One independent copy of a world: plain data over a shared base.
#[derive(Clone, Debug)]
pub struct Row {
    pub overlay: Overlay,
    pub block: BlockEnv,
}

impl Row {
    /// An independent twin.
    pub fn twin(&self) -> Self {
        Self { overlay: self.overlay.without_snapshots(), block: self.block.clone() }
    }

    /// Note where it stands, for `take_run_back`. The run before can be taken back no longer: what it kept for that is
    /// let go now, when the row is looked at anyway.
    pub fn begin_run(&mut self) {
        if let Some(before) = self.overlay.last_snapshot() {
            self.overlay.release(before);
        }
        self.overlay.snapshot(&self.block);
    }

    /// Stand where the last run began.
    pub fn take_run_back(&mut self) {
        if let Some(block) = self.overlay.last_snapshot().and_then(|mark| self.overlay.revert(mark)) {
            self.block = block;
        }
    }
}
