//! What revm costs with nothing around it: the yardstick of `benchmarks/`. Built only with the `bench` feature.
//!
//! One EVM made once over revm's own in-memory database, `transact` in a loop, the resulting state dropped.

use std::time::Instant;

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    Context, DatabaseCommit, ExecuteEvm, MainBuilder, MainContext,
    context::{CfgEnv, TxEnv},
    database::{CacheDB, EmptyDB},
    primitives::{Bytes, TxKind, hardfork::SpecId},
};

use crate::{
    blocks::block::Block,
    convert::AddressArg,
    evm::DEFAULT_GAS,
    storage::{dump, world::World},
};

fn cache(world: &World) -> CacheDB<EmptyDB> {
    let mut database = CacheDB::new(EmptyDB::default());
    for account in world.base.iter() {
        let mut info = account.info.clone();
        info.account_id = None;
        database.insert_account_info(account.address, info);
        for (key, value) in &account.slots {
            let _ = database.insert_account_storage(account.address, *key, *value);
        }
    }
    for (number, hash) in &world.base.block_hashes {
        database.cache.block_hashes.insert(revm::primitives::U256::from(*number), *hash);
    }
    database
}

/// Seconds for each of `rounds` rounds of `calls` identical calls on the dumped world.
#[pyfunction]
pub fn bare_calls(
    py: Python<'_>,
    dump: &[u8],
    to: AddressArg,
    data: &[u8],
    sender: AddressArg,
    calls: usize,
    rounds: usize,
) -> PyResult<Vec<f64>> {
    let (world, block, spec) = dump::load(dump).map_err(PyValueError::new_err)?;
    let tx = TxEnv {
        caller: sender.0,
        gas_limit: DEFAULT_GAS,
        gas_price: 0,
        kind: TxKind::Call(to.0),
        data: Bytes::copy_from_slice(data),
        chain_id: None,
        ..Default::default()
    };
    py.detach(|| {
        let mut cfg = CfgEnv::new_with_spec(spec).with_chain_id(world.chain_id);
        cfg.disable_nonce_check = true;
        cfg.disable_base_fee = true;
        cfg.disable_fee_charge = true;
        cfg.disable_eip3607 = true;
        cfg.disable_block_gas_limit = true;
        cfg.tx_chain_id_check = false;
        let mut evm = Context::mainnet().with_db(cache(&world)).with_cfg(cfg).with_block(block).build_mainnet();
        let mut seconds = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let started = Instant::now();
            for _ in 0..calls {
                let outcome = evm.transact(tx.clone()).map_err(|error| PyValueError::new_err(error.to_string()))?;
                if !outcome.result.is_success() {
                    return Err(PyValueError::new_err("the call fails on bare revm"));
                }
                std::hint::black_box(outcome);
            }
            seconds.push(started.elapsed().as_secs_f64());
        }
        Ok(seconds)
    })
}

/// Seconds to execute a block's transactions on the dumped pre-state, `rounds` times afresh.
#[pyfunction]
pub fn bare_replay(
    py: Python<'_>,
    dump: &[u8],
    block: PyRef<'_, Block>,
    blob_fee_fraction: u64,
    rounds: usize,
) -> PyResult<Vec<f64>> {
    let (world, _, spec): (_, _, SpecId) = dump::load(dump).map_err(PyValueError::new_err)?;
    let env = block.block_env(spec, blob_fee_fraction)?;
    let transactions = block.transactions();
    py.detach(|| {
        let mut seconds = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let cfg = CfgEnv::new_with_spec(spec).with_chain_id(world.chain_id);
            let mut evm =
                Context::mainnet().with_db(cache(&world)).with_cfg(cfg).with_block(env.clone()).build_mainnet();
            let started = Instant::now();
            for tx in transactions {
                let outcome = evm.transact(tx.clone()).map_err(|error| PyValueError::new_err(error.to_string()))?;
                evm.ctx.journaled_state.database.commit(outcome.state);
            }
            seconds.push(started.elapsed().as_secs_f64());
        }
        Ok(seconds)
    })
}
