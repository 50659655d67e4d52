//! A block's bytes are decoded whole, its signers are recovered, and its header becomes the EVM's environment.

use alloy_rlp::Encodable;
use revm::primitives::{Bytes, TxKind, address, b256, hex, uint};

use super::*;

/// The example of EIP-155: nine transactions before, one ether to 0x3535…, signed by the key 0x4646….
const EIP_155: [u8; 110] = hex!(
    "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe53"
    "7567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
);
const SIGNER: Address = address!("9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F");

/// The first header of mainnet.
fn genesis() -> Header {
    Header {
        ommers_hash: b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"),
        state_root: b256!("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544"),
        transactions_root: b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
        receipts_root: b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
        difficulty: U256::from(0x4_0000_0000_u64),
        gas_limit: 5_000,
        extra_data: Bytes::from(hex!("11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa")),
        nonce: 0x42_u64.to_be_bytes().into(),
        ..Header::default()
    }
}

fn block_of(header: Header, envelopes: Vec<TxEnvelope>) -> Block {
    Block::of(header.clone(), header.hash_slow(), envelopes, None, None, 0.0).expect("a block")
}

#[test]
fn a_header_has_the_hash_that_the_chain_gives_it() {
    let json = header_to_json(&genesis()).expect("JSON");
    let hash = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
    assert_eq!(parse_header(json.as_bytes()).expect("a header").hash_slow(), hash);
    let other = json.replace("0x1388", "0x1389");
    assert_ne!(other, json);
    assert_ne!(parse_header(other.as_bytes()).expect("a header").hash_slow(), hash);
}

#[test]
fn a_header_as_bytes_is_taken_whole_or_not_at_all() {
    let bytes = alloy_rlp::encode(genesis());
    let json = decode_header(&bytes).expect("a header");
    assert_eq!(parse_header(json.as_bytes()).expect("JSON"), genesis());
    for wrong in [&bytes[1..], &bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat()] {
        assert!(decode_header(wrong).is_err());
    }
}

#[test]
fn a_transaction_is_sent_by_whoever_signed_it() {
    let block = block_of(genesis(), vec![signed(&EIP_155).expect("a transaction")]);
    let tx = &block.transactions[0];
    assert_eq!((tx.caller, tx.nonce, tx.gas_limit, tx.gas_price), (SIGNER, 9, 21_000, 20_000_000_000));
    assert_eq!(tx.kind, TxKind::Call(Address::repeat_byte(0x35)));
    assert_eq!((tx.value, tx.chain_id, tx.tx_type), (U256::from(10_u64.pow(18)), Some(1), 0));
    assert!(block.forged.is_empty());
}

#[test]
fn a_transaction_that_was_changed_is_another_signers() {
    for at in [4, 20, 40, 60, 100] {
        let mut changed = EIP_155;
        changed[at] ^= 1;
        let signers = signed(&changed).map(|tx| tx.recover_signer_unchecked());
        assert!(!matches!(signers, Ok(Ok(SIGNER))), "byte {at}");
    }
}

#[test]
fn a_stated_sender_that_did_not_sign_is_reported() {
    let envelopes = vec![signed(&EIP_155).expect("a transaction"); 2];
    let stated = Some(vec![SIGNER, Address::ZERO]);
    let block = Block::of(genesis(), B256::ZERO, envelopes, None, stated, 0.0).expect("a block");
    assert_eq!(block.forged, [(1, SIGNER)]);
    assert_eq!(block.transactions[1].caller, SIGNER, "the signer counts");
}

#[test]
fn a_transaction_is_the_same_as_bytes_and_as_json() {
    let tx = signed(&EIP_155).expect("a transaction");
    let mut json = serde_json::to_value(&tx).expect("JSON");
    json.as_object_mut().expect("an object").remove("hash");
    assert_eq!(signed(&serde_json::to_vec(&json).expect("JSON")), Ok(tx));
    json["type"] = "0x7f".into();
    let error = signed(&serde_json::to_vec(&json).expect("JSON")).expect_err("no such type");
    assert_eq!(error, "unknown transaction type Some(\"0x7f\")");
    assert_eq!(signed(&[&EIP_155[..], &[0]].concat()).expect_err("a byte more"), "1 bytes too many");
}

#[test]
fn a_block_as_bytes_is_taken_whole_or_not_at_all() {
    let block = ConsensusBlock::<TxEnvelope> {
        header: genesis(),
        body: alloy_consensus::BlockBody {
            transactions: vec![signed(&EIP_155).expect("a transaction")],
            ..Default::default()
        },
    };
    let mut bytes = Vec::new();
    block.encode(&mut bytes);
    let decoded = Block::decode(&bytes).expect("a block");
    assert_eq!((decoded.header.hash_slow(), decoded.transactions.len()), (genesis().hash_slow(), 1));
    bytes.push(0);
    assert_eq!(Block::decode(&bytes).err(), Some("these bytes are not an RLP-encoded block".to_owned()));
}

#[test]
fn the_environment_of_a_block_is_that_of_its_hard_fork() {
    let mix = B256::repeat_byte(7);
    let header = Header { number: 5, timestamp: 9, mix_hash: mix, beneficiary: SIGNER, ..genesis() };
    let block = block_of(header, Vec::new());
    let before = block.block_env(SpecId::LONDON, 1).expect("an environment");
    assert_eq!((before.difficulty, before.prevrandao), (U256::from(0x4_0000_0000_u64), None));
    let after = block.block_env(SpecId::MERGE, 1).expect("an environment");
    assert_eq!((after.difficulty, after.prevrandao), (U256::ZERO, Some(mix)));
    assert_eq!((after.number, after.timestamp, after.beneficiary), (U256::from(5), U256::from(9), SIGNER));
    assert_eq!((after.gas_limit, after.basefee, after.blob_excess_gas_and_price), (5_000, 0, None));
}

#[test]
fn fees_of_the_environment_are_those_of_the_header() {
    let with = |excess| Header { base_fee_per_gas: Some(77), excess_blob_gas: Some(excess), ..genesis() };
    let env = |excess| block_of(with(excess), Vec::new()).block_env(SpecId::CANCUN, 3_338_477);
    let usual = env(10 * 131_072).expect("an environment");
    let blob = usual.blob_excess_gas_and_price.expect("a blob fee");
    assert_eq!((usual.basefee, blob.excess_blob_gas, blob.blob_gasprice), (77, 1_310_720, 1));
    assert!(env(u64::MAX).is_err(), "such a fee has more than 128 bits");
}

#[test]
fn blob_fees_grow_by_the_exponential_of_eip_4844_up_to_128_bits() {
    // By the Python of EIP-4844: fake_exponential(1, excess, fraction).
    for (excess, fraction, fee) in [
        (0, 3_338_477, 1),
        (3_338_477, 3_338_477, 2),
        (10 * 3_338_477, 3_338_477, 22_026),
        (10 * 5_007_716, 5_007_716, 22_026),
        (60 * 3_338_477, 3_338_477, 114_200_738_981_568_375_576_372_295),
        (88 * 3_338_477, 3_338_477, 165_163_625_499_254_490_654_908_972_911_554_338_246),
        (u64::MAX, u64::MAX, 2),
    ] {
        let found = blob_fee(excess, fraction).expect("a fee of 128 bits");
        assert_eq!(found.blob_gasprice, fee, "{excess} by {fraction}");
    }
    for (excess, fraction) in [(89 * 3_338_477, 3_338_477), (u64::MAX, 1), (1, 0)] {
        let error = blob_fee(excess, fraction).expect_err("more than 128 bits");
        assert_eq!(error, format!("excess blob gas {excess} gives a blob fee beyond 128 bits"));
    }
}

#[test]
fn a_signature_with_the_higher_value_is_noted() {
    let order = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);
    let signed = |s: U256| {
        let signature = Signature::new(U256::from(2), s, false);
        TxEnvelope::Legacy(TxLegacy { gas_limit: 21_000, ..Default::default() }.into_signed(signature))
    };
    let low = U256::from(7);
    let envelopes = vec![signed(low), signed(order - low)];
    let block = Block::of(Header::default(), B256::ZERO, envelopes, None, None, 0.0).unwrap();
    assert_eq!((block.transactions.len(), block.malleable), (2, vec![1]));
}
