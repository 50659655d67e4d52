//! Requests that a block makes of the consensus layer since Prague (EIP-7685): deposits, withdrawals, consolidations.

use alloy_eips::{
    eip6110::DEPOSIT_REQUEST_TYPE,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
};
use revm::{
    context::result::ExecutionResult,
    primitives::{Address, B256, Bytes, Log, b256},
};
use sha2::{Digest, Sha256};

use crate::machine::{Failure, Machine};

/// `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_EVENT: B256 = b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// Length of a deposit's data; offset and length of its byte strings: key, credentials, amount, signature, index.
const DEPOSIT_LENGTH: usize = 576;
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];

/// Each kind of request that occurs: its type, then its data.
pub struct Requests(Vec<Vec<u8>>);

impl Requests {
    pub fn iter(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter()
    }

    /// What a header states: the hash of the hashes.
    pub fn hash(&self) -> B256 {
        let mut all = Sha256::new();
        for request in &self.0 {
            all.update(Sha256::digest(request));
        }
        B256::from_slice(&all.finalize())
    }
}

/// Deposits from the logs of the block, then the two system calls that end it.
pub fn collect<'a>(
    machine: &mut Machine,
    logs: impl Iterator<Item = &'a Log>,
    deposit_contract: Option<Address>,
) -> Result<Requests, Failure> {
    let mut deposits = vec![DEPOSIT_REQUEST_TYPE];
    for log in logs {
        if Some(log.address) == deposit_contract && log.topics().first() == Some(&DEPOSIT_EVENT) {
            read_deposit(&log.data.data, &mut deposits).map_err(Failure::Invalid)?;
        }
    }
    let mut all = vec![deposits];
    for (kind, contract) in [
        (WITHDRAWAL_REQUEST_TYPE, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
        (CONSOLIDATION_REQUEST_TYPE, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
    ] {
        // Unlike the calls that open a block, these must succeed.
        if !machine.has_code(contract)? {
            return Err(Failure::Invalid(format!("there is no contract at {contract}, which collects requests")));
        }
        match machine.system_call(contract, Bytes::new())? {
            ExecutionResult::Success { output, .. } => {
                let mut request = vec![kind];
                request.extend_from_slice(output.data());
                all.push(request);
            }
            _ => return Err(Failure::Invalid(format!("the system call to {contract} failed"))),
        }
    }
    all.retain(|request| request.len() > 1);
    Ok(Requests(all))
}

/// The fields of a deposit one after another; the layout of the event is fixed (EIP-6110).
fn read_deposit(data: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let word = |at: usize| data.get(at..at + 32).map(revm::primitives::U256::from_be_slice);
    let is = |at: usize, value: usize| word(at) == Some(revm::primitives::U256::from(value));
    let laid_out = data.len() == DEPOSIT_LENGTH
        && DEPOSIT_FIELDS.iter().enumerate().all(|(index, (at, length))| is(index * 32, *at) && is(*at, *length));
    if !laid_out {
        return Err("a deposit's log is not laid out as EIP-6110 says".into());
    }
    for (at, length) in DEPOSIT_FIELDS {
        out.extend_from_slice(&data[at + 32..at + 32 + length]);
    }
    Ok(())
}
