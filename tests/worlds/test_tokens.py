"""Our tokens follow ERC-20 with permit, and USDT's return nothing."""

from __future__ import annotations

import pytest
from eth_abi import encode

from mayavi.errors import CallReverted
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account
from mayavi.worlds.tables.chain import ChainTable
from tests.worlds.contract_of import ContractOf
from tests.worlds.signing import address_of_key, sign

BOB, CAROL = named_account("bob"), named_account("carol")
KEY = 0xA11CE
ALICE = address_of_key(KEY)
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
ORDER = 2 * HALF_ORDER + 1


def test_every_token_has_its_name_symbol_and_decimals(contract: ContractOf, table: ChainTable) -> None:
    for symbol, token in table.tokens.items():
        live = contract(symbol, "WETH9" if token.kind == "weth9" else "Token")
        assert (live["name"](), live.symbol(), live.decimals()) == (token.name, symbol, token.decimals)


@pytest.mark.parametrize("symbol", ["USDC", "USDT"])
def test_transfers_move_balances_and_spend_allowances(fork: Fork, contract: ContractOf, symbol: str) -> None:
    token = contract(symbol, "SilentToken" if symbol == "USDT" else "Token")
    fork.deal(symbol, ALICE, 100)
    supply = token.totalSupply()
    token.transfer(BOB, 40, sender=ALICE)
    token.approve(CAROL, 50, sender=ALICE)
    token.transferFrom(ALICE, BOB, 30, sender=CAROL)
    assert (token.balanceOf(ALICE), token.balanceOf(BOB), token.allowance(ALICE, CAROL)) == (30, 70, 20)
    assert token.totalSupply() == supply
    with pytest.raises(CallReverted, match="exceeds balance"):
        token.transfer(BOB, 31, sender=ALICE)
    with pytest.raises(CallReverted, match="exceeds allowance"):
        token.transferFrom(ALICE, BOB, 21, sender=CAROL)


def test_a_transfer_to_oneself_changes_nothing(fork: Fork, contract: ContractOf) -> None:
    fork.deal("DAI", ALICE, 100)
    contract("DAI", "Token").transfer(ALICE, 100, sender=ALICE)
    assert contract("DAI", "Token").balanceOf(ALICE) == 100


def test_an_unlimited_allowance_is_not_spent(fork: Fork, contract: ContractOf) -> None:
    token = contract("DAI", "Token")
    fork.deal("DAI", ALICE, 100)
    token.approve(CAROL, 2**256 - 1, sender=ALICE)
    token.transferFrom(ALICE, BOB, 100, sender=CAROL)
    assert token.allowance(ALICE, CAROL) == 2**256 - 1


def test_usdt_returns_nothing_and_wants_allowances_reset(fork: Fork, contract: ContractOf) -> None:
    usdt, usdc = contract("USDT", "SilentToken"), contract("USDC", "Token")
    for token, symbol in ((usdt, "USDT"), (usdc, "USDC")):
        fork.deal(symbol, ALICE, 100)
        output = fork.call(token.address, token.transfer.encode(BOB, 1), sender=ALICE)
        assert len(output) == (0 if symbol == "USDT" else 32)
    usdt.approve(CAROL, 1, sender=ALICE)
    with pytest.raises(CallReverted, match="reset the allowance"):
        usdt.approve(CAROL, 2, sender=ALICE)
    usdt.approve(CAROL, 0, sender=ALICE)
    usdt.approve(CAROL, 2, sender=ALICE)


def test_only_the_minter_mints(contract: ContractOf) -> None:
    token = contract("LINK", "Token")
    supply = token.totalSupply()
    token.mint(ALICE, 5, sender=DEPLOYER)
    assert (token.balanceOf(ALICE), token.totalSupply()) == (5, supply + 5)
    with pytest.raises(CallReverted, match="not the minter"):
        token.mint(ALICE, 5, sender=ALICE)
    token.set_minter(BOB, sender=DEPLOYER)
    token.mint(ALICE, 1, sender=BOB)
    with pytest.raises(CallReverted, match="not the minter"):
        token.mint(ALICE, 5, sender=DEPLOYER)


def permit_digest(name: str, version: str, token: bytes, amount: int, nonce: int, deadline: int) -> bytes:
    domain_type = keccak_text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
    permit_type = keccak_text("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")
    domain = encode(
        ["bytes32", "bytes32", "bytes32", "uint256", "address"],
        [domain_type, keccak_text(name), keccak_text(version), 1, token],
    )
    message = encode(
        ["bytes32", "address", "address", "uint256", "uint256", "uint256"],
        [permit_type, ALICE, BOB, amount, nonce, deadline],
    )
    return keccak256(b"\x19\x01" + keccak256(domain) + keccak256(message))


class TestPermit:
    def test_a_signature_sets_the_allowance_once(self, fork: Fork, contract: ContractOf) -> None:
        token, deadline = contract("USDC", "Token"), fork.timestamp
        v, r, s = sign(permit_digest("USD Coin", "2", token.address, 7, 0, deadline), KEY)
        token.permit(ALICE, BOB, 7, deadline, v, r, s, sender=CAROL)
        assert (token.allowance(ALICE, BOB), token.nonces(ALICE)) == (7, 1)
        with pytest.raises(CallReverted, match="not the owner's"):
            token.permit(ALICE, BOB, 7, deadline, v, r, s, sender=CAROL)

    def test_a_late_a_foreign_and_a_malleable_signature_are_refused(self, fork: Fork, contract: ContractOf) -> None:
        token, deadline = contract("WBTC", "Token"), fork.timestamp
        v, r, s = sign(permit_digest("Wrapped BTC", "1", token.address, 7, 0, deadline), KEY)
        twin = (ORDER - int.from_bytes(s, "big")).to_bytes(32, "big")
        with pytest.raises(CallReverted, match="malleable"):
            token.permit(ALICE, BOB, 7, deadline, 55 - v, r, twin, sender=CAROL)
        with pytest.raises(CallReverted, match="not the owner's"):
            token.permit(ALICE, BOB, 8, deadline, v, r, s, sender=CAROL)
        fork.mine()
        with pytest.raises(CallReverted, match="deadline"):
            token.permit(ALICE, BOB, 7, deadline, v, r, s, sender=CAROL)
