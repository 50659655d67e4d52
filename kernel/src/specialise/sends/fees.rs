//! What a transaction pays for its gas: the sender the whole price, the block's beneficiary gets the tip.

use revm::{
    Database,
    primitives::{Address, U256},
    state::EvmState,
};

use super::Sending;
use crate::storage::database::{Miss, RowDatabase};

/// Prices of one unit of gas, and who pays and who is paid.
#[derive(Clone, Copy)]
pub struct Fees {
    sender: Address,
    beneficiary: Address,
    price: u128,
    tip: u128,
}

impl Fees {
    /// None where the sender cannot pay for the gas limit: that is the interpreter's to say.
    pub fn of(database: &mut RowDatabase, sending: &Sending<'_>) -> Result<Option<Self>, Miss> {
        let Sending { tx, block, settings, .. } = sending;
        let (sender, beneficiary) = (tx.caller, block.beneficiary);
        let rules = settings.rules;
        let Some(most) = tx.gas_price.checked_mul(u128::from(tx.gas_limit)) else { return Ok(None) };
        let asked = most > 0 && (rules.charge_fees || rules.check_balance);
        if asked && database.basic(sender)?.unwrap_or_default().balance < U256::from(most) {
            return Ok(None);
        }
        if !rules.charge_fees {
            return Ok(Some(Self { sender, beneficiary, price: 0, tip: 0 }));
        }
        let base = u128::from(block.basefee);
        let price = tx.gas_priority_fee.map_or(tx.gas_price, |tip| tx.gas_price.min(base.saturating_add(tip)));
        Ok(Some(Self { sender, beneficiary, price, tip: price.saturating_sub(base) }))
    }

    /// What the sender pays and the beneficiary gets for so much gas.
    fn amounts(&self, gas: u64) -> [U256; 2] {
        [self.price, self.tip].map(|price| U256::from(price) * U256::from(gas))
    }

    /// Pay. Both accounts are in the overlay if they are to be.
    pub fn pay(&self, database: &mut RowDatabase, gas: u64) -> Result<(), Miss> {
        let [paid, earned] = self.amounts(gas);
        if !paid.is_zero() {
            let mut info = database.basic(self.sender)?.unwrap_or_default();
            info.balance = info.balance.saturating_sub(paid);
            database.overlay.set_info(self.sender, info);
        }
        if !earned.is_zero() {
            let mut info = database.basic(self.beneficiary)?.unwrap_or_default();
            info.balance = info.balance.saturating_add(earned);
            database.overlay.set_info(self.beneficiary, info);
        }
        Ok(())
    }

    /// Whether an interpreted transaction has left other balances, or another nonce.
    pub fn differ(&self, database: &mut RowDatabase, gas: u64, state: &EvmState) -> Result<bool, Miss> {
        let [paid, earned] = self.amounts(gas);
        let before = database.basic(self.sender)?.unwrap_or_default();
        let told = |address: &Address| state.get(address).map(|account| (account.info.balance, account.info.nonce));
        let mut differ =
            told(&self.sender) != Some((before.balance.saturating_sub(paid), before.nonce.saturating_add(1)));
        let earner = database.basic(self.beneficiary)?.unwrap_or_default();
        if let Some((balance, nonce)) = told(&self.beneficiary) {
            differ |= (balance, nonce) != (earner.balance.saturating_add(earned), earner.nonce);
        } else {
            differ |= !earned.is_zero();
        }
        Ok(differ)
    }
}
