//! Writes of a run, and nothing else: copying or resetting a row costs what it wrote.

use revm::{
    context::BlockEnv,
    primitives::{Address, AddressMap, U256, U256Map},
    state::{AccountInfo, EvmState},
};

use super::{changes::Changes, plane::Plane};

#[derive(Clone, Debug)]
pub struct OverlayAccount {
    pub info: AccountInfo,
    /// Destroyed: before EIP-161 that differs from empty.
    pub destroyed: bool,
    /// Created or destroyed here: nothing of the storage below shows through.
    pub cleared: bool,
    pub slots: U256Map<U256>,
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
    pub changes: Changes,
}

impl Overlay {
    #[inline]
    pub fn get(&self, address: &Address) -> Option<&OverlayAccount> {
        // Most reads of a fresh row find nothing here: spare them the hash.
        if self.accounts.is_empty() { None } else { self.accounts.get(address) }
    }

    /// Whether an account is here, and was not destroyed.
    pub fn stands(&self, address: &Address) -> bool {
        self.get(address).is_some_and(|account| !account.destroyed)
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
        self.leave_plane();
        self.write_state(state);
    }

    /// The same where the slots that have numbers are known: their values stay in the plane.
    pub fn apply_numbered(&mut self, state: EvmState, number: impl Fn(Address, U256) -> Option<u32>) {
        if state.values().any(|account| account.is_selfdestructed() || account.is_created()) {
            return self.apply(state);
        }
        self.flush();
        for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
            for (key, slot) in account.storage.iter().filter(|(_, slot)| slot.is_changed()) {
                if let Some(number) = number(*address, *key) {
                    self.plane.learn(number, slot.present_value);
                }
            }
        }
        self.write_state(state);
    }

    fn write_state(&mut self, state: EvmState) {
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
                    self.write_slot(address, key, slot.present_value);
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
                if info.code_hash != account.info.code_hash || destroyed != account.destroyed {
                    self.changes.forget();
                }
                if journaling {
                    self.undo.push(Undo::Info(address, info, destroyed));
                }
            }
            None => {
                // Which code lies below is not known here.
                self.changes.forget();
                self.accounts
                    .insert(address, OverlayAccount { info, destroyed, cleared: false, slots: U256Map::default() });
                if journaling {
                    self.undo.push(Undo::Absent(address));
                }
            }
        }
    }

    /// Raise an account's nonce; false if the account is not in the overlay.
    pub fn raise_nonce(&mut self, address: Address, by: u64) -> bool {
        let journaling = self.journaling();
        let Some(account) = self.accounts.get_mut(&address).filter(|account| !account.destroyed) else { return false };
        if journaling {
            self.undo.push(Undo::Nonce(address, account.info.nonce));
        }
        account.info.nonce = account.info.nonce.saturating_add(by);
        true
    }

    /// The account must be in the overlay: its info is set first.
    pub fn set_slot(&mut self, address: Address, key: U256, value: U256) {
        self.leave_plane();
        self.write_slot(address, key, value);
    }

    /// The same where the slot's number is known, or that it has none.
    pub fn set_numbered(&mut self, number: Option<u32>, address: Address, key: U256, value: U256) {
        match number {
            Some(number) => self.plane.write(number, address, key, value),
            None => self.write_slot(address, key, value),
        }
    }

    /// Bring what replays have written to where everybody reads it. What was there when the run began can be brought
    /// back by the journal.
    #[inline]
    pub fn flush(&mut self) {
        if self.plane.is_dirty() {
            self.bring_over();
        }
    }

    fn bring_over(&mut self) {
        let journaling = self.journaling();
        for each in self.plane.take_written() {
            if let Some(begin) = each.begin.filter(|_| journaling) {
                if let Some(begin) = begin {
                    self.put_slot(each.address, each.key, begin);
                }
                self.write_slot(each.address, each.key, each.value);
            } else {
                self.put_slot(each.address, each.key, each.value);
            }
        }
    }

    fn leave_plane(&mut self) {
        self.flush();
        self.plane.clear();
    }

    /// Write a slot past the journal.
    fn put_slot(&mut self, address: Address, key: U256, value: U256) {
        if let Some(account) = self.accounts.get_mut(&address) {
            account.slots.insert(key, value);
            self.changes.note(&address, &key);
        }
    }

    fn write_slot(&mut self, address: Address, key: U256, value: U256) {
        let journaling = self.journaling();
        if let Some(account) = self.accounts.get_mut(&address) {
            let before = account.slots.insert(key, value);
            self.changes.note(&address, &key);
            if journaling {
                self.undo.push(Undo::Slot(address, key, before));
            }
        }
    }

    /// Forget the storage of an account and whatever lies below it.
    pub fn clear_storage(&mut self, address: Address) {
        self.leave_plane();
        self.changes.forget();
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

    /// Become like another one, in the memory that is there.
    fn set_to(&mut self, other: &Self) {
        self.accounts.clone_from(&other.accounts);
        self.undo.clone_from(&other.undo);
        self.marks.clone_from(&other.marks);
        self.next_mark = other.next_mark;
        self.plane.set_to(&other.plane);
        self.changes.forget();
    }

    pub fn snapshot(&mut self, block: &BlockEnv) -> u64 {
        let id = self.next_mark;
        self.next_mark += 1;
        self.marks.push(Mark { id, undo_len: self.undo.len(), block: block.clone() });
        id
    }

    /// Close the last snapshot, and open one at this moment.
    pub fn begin_anew(&mut self, block: &BlockEnv) {
        if let [mark] = &mut self.marks[..] {
            *mark = Mark { id: self.next_mark, undo_len: 0, block: block.clone() };
            self.next_mark += 1;
            self.undo.clear();
            return;
        }
        if let Some(before) = self.last_snapshot() {
            self.release(before);
        }
        self.snapshot(block);
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
        self.plane.take_run_back();
        let mark = self.marks.swap_remove(at);
        self.marks.truncate(at);
        while self.undo.len() > mark.undo_len {
            match self.undo.pop()? {
                Undo::Absent(address) => {
                    self.accounts.remove(&address);
                    self.changes.forget();
                }
                Undo::Info(address, info, destroyed) => {
                    if let Some(account) = self.accounts.get_mut(&address) {
                        if info.code_hash != account.info.code_hash || destroyed != account.destroyed {
                            self.changes.forget();
                        }
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
                        self.changes.note(&address, &key);
                    }
                }
                Undo::Storage(address, cleared, slots) => {
                    self.changes.forget();
                    if let Some(account) = self.accounts.get_mut(&address) {
                        account.cleared = cleared;
                        account.slots = slots;
                    }
                }
            }
        }
        for each in self.plane.take_written() {
            self.put_slot(each.address, each.key, each.value);
        }
        self.plane.clear();
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
        let mut copy = Self { accounts: self.accounts.clone(), ..Default::default() };
        for (address, key, value) in self.plane.unwritten() {
            copy.put_slot(address, key, value);
        }
        copy
    }

    /// Bytes this overlay holds, counted from the tables' capacities.
    pub fn memory(&self) -> usize {
        let account = size_of::<(Address, OverlayAccount)>() + 1;
        let slot = size_of::<(U256, U256)>() + 1;
        self.accounts.capacity() * account
            + self.accounts.values().map(|a| a.slots.capacity() * slot).sum::<usize>()
            + self.undo.capacity() * size_of::<Undo>()
            + self.marks.capacity() * size_of::<Mark>()
            + self.plane.memory()
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

    /// Become like another one, in the memory that is there.
    pub fn set_to(&mut self, other: &Self) {
        self.overlay.set_to(&other.overlay);
        self.block.clone_from(&other.block);
    }

    /// Note where it stands, for `take_run_back`. The run before can be taken back no longer: what it kept for that is
    /// let go now, when the row is looked at anyway.
    pub fn begin_run(&mut self) {
        self.overlay.plane.begin_run();
        self.overlay.begin_anew(&self.block);
    }

    /// Stand where the last run began.
    pub fn take_run_back(&mut self) {
        if let Some(block) = self.overlay.last_snapshot().and_then(|mark| self.overlay.revert(mark)) {
            self.block = block;
        }
    }
}
