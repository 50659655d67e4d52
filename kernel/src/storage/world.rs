//! What is known about a chain: a frozen base, and for forks of a live chain a layer of facts learnt later.

use std::sync::{Arc, OnceLock, RwLock};

use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use revm::{
    bytecode::Bytecode,
    primitives::{Address, AddressMap, B256, HashMap, KECCAK_EMPTY, U256, U256Map, keccak256},
    state::{AccountId, AccountInfo},
};

use super::{canonical::Canonical, database::Miss};
use crate::{
    outcomes::Outcomes,
    proofs::proven::Proven,
    specialise::{sends::Sends, views::Views},
};

/// One account below all overlays.
#[derive(Clone, Debug)]
pub struct BaseAccount {
    pub address: Address,
    pub info: AccountInfo,
    /// A complete account is known in full: a slot that is absent is zero. In a partial one it is unknown.
    pub complete: bool,
    pub slots: U256Map<U256>,
}

/// A set of accounts and block hashes. Accounts are indexed so that revm can come back with the index.
#[derive(Clone, Debug, Default)]
pub struct Base {
    index: AddressMap<u32>,
    accounts: Vec<BaseAccount>,
    pub block_hashes: HashMap<u64, B256>,
}

impl Base {
    pub fn get(&self, address: &Address) -> Option<&BaseAccount> {
        self.index.get(address).map(|&i| &self.accounts[i as usize])
    }

    #[inline]
    pub fn by_id(&self, id: AccountId) -> Option<&BaseAccount> {
        self.accounts.get(id.get())
    }

    pub fn get_mut(&mut self, address: &Address) -> Option<&mut BaseAccount> {
        let i = *self.index.get(address)?;
        Some(&mut self.accounts[i as usize])
    }

    /// Insert or replace an account. The index it gets is written into its info for fast storage reads.
    pub fn insert(&mut self, mut account: BaseAccount) {
        let next = self.accounts.len();
        let slot = *self.index.entry(account.address).or_insert(next as u32) as usize;
        account.info.account_id = AccountId::new(slot);
        if slot == next {
            self.accounts.push(account);
        } else {
            self.accounts[slot] = account;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &BaseAccount> {
        self.accounts.iter()
    }
}

/// The world below the overlays, shared by every `Evm` and `Fleet` that runs on it.
#[derive(Debug)]
pub struct World {
    pub chain_id: u64,
    /// In a closed world an absent account does not exist; in an open one it is unknown.
    pub closed: bool,
    /// Whether nothing is unknown: a closed world of complete accounts.
    pub whole: bool,
    pub base: Base,
    /// Facts of the forked block that arrived after the world was made. They only ever add up.
    pub learnt: RwLock<Base>,
    /// Where facts that are not learnt yet come from: trie nodes below a state root.
    pub proven: Option<Arc<Proven>>,
    /// Recorded views, of all forks of this world.
    pub views: Views,
    /// Recorded transactions, likewise.
    pub sends: Sends,
    /// Outcomes that runs share, where they do.
    pub outcomes: Outcomes,
    canonical: OnceLock<Canonical>,
}

impl World {
    pub fn new(chain_id: u64, closed: bool, base: Base) -> Arc<Self> {
        Arc::new(Self {
            chain_id,
            closed,
            whole: closed && base.iter().all(|account| account.complete),
            base,
            learnt: RwLock::new(Base::default()),
            proven: None,
            views: Views::default(),
            sends: Sends::default(),
            outcomes: Outcomes::default(),
            canonical: OnceLock::new(),
        })
    }

    /// An open world whose facts are looked up in trie nodes.
    pub fn of_proofs(chain_id: u64, proven: Arc<Proven>) -> Arc<Self> {
        let learnt = RwLock::new(Base::default());
        Arc::new(Self {
            chain_id,
            closed: false,
            whole: false,
            base: Base::default(),
            learnt,
            proven: Some(proven),
            views: Views::default(),
            sends: Sends::default(),
            outcomes: Outcomes::default(),
            canonical: OnceLock::new(),
        })
    }

    /// The canonical bytes of a closed world; an open one learns more at any time.
    pub fn canonical(&self) -> Option<&Canonical> {
        self.closed.then(|| self.canonical.get_or_init(|| Canonical::of(self)))
    }

    /// Look an account up in the proofs and learn it; `None` in a world without proofs. The code stays open if it is
    /// not among the proofs: only code that runs is needed.
    pub fn prove_account(&self, address: Address) -> Option<Result<AccountInfo, Miss>> {
        let proven = self.proven.as_ref()?;
        let account = match proven.account(address) {
            Ok(account) => account.unwrap_or_default(),
            Err(miss) => return Some(Err(miss)),
        };
        let code = match account.code_hash {
            KECCAK_EMPTY => Some(Bytecode::default()),
            hash => proven.code(&hash).cloned(),
        };
        let TrieAccount { nonce, balance, code_hash, .. } = account;
        let info = AccountInfo { balance, nonce, code_hash, code, account_id: None };
        let mut learnt = self.learnt.write().unwrap_or_else(|e| e.into_inner());
        let complete = account.storage_root == EMPTY_ROOT_HASH;
        learnt.insert(BaseAccount { address, info: info.clone(), complete, slots: U256Map::default() });
        Some(Ok(info))
    }

    /// Look a slot up in the proofs and learn it; `None` in a world without proofs.
    pub fn prove_slot(&self, address: Address, key: U256) -> Option<Result<U256, Miss>> {
        let value = self.proven.as_ref()?.slot(address, key);
        if let Ok(value) = value {
            let mut learnt = self.learnt.write().unwrap_or_else(|e| e.into_inner());
            if let Some(account) = learnt.get_mut(&address) {
                account.slots.insert(key, value);
            }
        }
        Some(value)
    }

    /// A learnt account with this code.
    pub fn address_with_code(&self, code_hash: &B256) -> Option<Address> {
        let learnt = self.learnt.read().unwrap_or_else(|e| e.into_inner());
        learnt.iter().find(|account| account.info.code_hash == *code_hash).map(|account| account.address)
    }

    /// A world with the same content and code of its own. Threads that share code pass its reference count from core to
    /// core at every frame; a fleet spares them that. Only frozen facts are copied: a fleet learns nothing.
    pub fn isolated(&self) -> Result<Arc<Self>, String> {
        let mut base = self.base.clone();
        let mut codes = CodeStore::default();
        for account in &mut base.accounts {
            if let Some(code) = &account.info.code {
                account.info.code = Some(codes.intern(code.original_byte_slice())?.1);
            }
        }
        Ok(Self::new(self.chain_id, self.closed, base))
    }

    /// Look an account up, base first.
    pub fn account<R>(&self, address: &Address, f: impl FnOnce(&BaseAccount) -> R) -> Option<R> {
        if let Some(account) = self.base.get(address) {
            return Some(f(account));
        }
        if self.closed {
            return None;
        }
        // The facts behind a poisoned lock are still consistent: each insertion is one call.
        let learnt = self.learnt.read().unwrap_or_else(|e| e.into_inner());
        learnt.get(address).map(f)
    }
}

/// Code analysed once and shared by hash.
#[derive(Default)]
pub struct CodeStore {
    by_hash: HashMap<B256, Bytecode>,
}

impl CodeStore {
    pub fn intern(&mut self, code: &[u8]) -> Result<(B256, Bytecode), String> {
        if code.is_empty() {
            return Ok((KECCAK_EMPTY, Bytecode::default()));
        }
        let hash = keccak256(code);
        if let Some(known) = self.by_hash.get(&hash) {
            return Ok((hash, known.clone()));
        }
        let bytecode = analyse(code)?;
        self.by_hash.insert(hash, bytecode.clone());
        Ok((hash, bytecode))
    }
}

/// Jump destinations and EIP-7702 designators are found here, once, never in the interpreter.
pub fn analyse(code: &[u8]) -> Result<Bytecode, String> {
    Bytecode::new_raw_checked(code.to_vec().into()).map_err(|e| format!("invalid bytecode: {e}"))
}

pub fn info_with_code(balance: U256, nonce: u64, code: &[u8]) -> Result<AccountInfo, String> {
    let (code_hash, bytecode) = CodeStore::default().intern(code)?;
    Ok(AccountInfo { balance, nonce, code_hash, code: Some(bytecode), account_id: None })
}
