# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Balances, allowances, permit and minting shared by the replica's tokens
@notice A module, not a contract: `Token` and `SilentToken` differ only in what `transfer`, `transferFrom` and
        `approve` return; `CurveLpToken` is minted and burned by its pool.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

PERMIT_TYPE_HASH: constant(bytes32) = keccak256(
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
)
DOMAIN_TYPE_HASH: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
# Half the order of secp256k1: a signature with a larger `s` is the malleable twin of another.
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
totalSupply: public(uint256)
nonces: public(HashMap[address, uint256])
minter: public(address)

name: public(String[64])
symbol: public(String[32])
version: public(String[8])
decimals: public(immutable(uint8))


@deploy
def __init__(name: String[64], symbol: String[32], decimals_: uint8, version: String[8], minter: address):
    self.name = name
    self.symbol = symbol
    self.version = version
    self.minter = minter
    decimals = decimals_


@external
@view
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain_separator()


@external
def permit(owner: address, spender: address, amount: uint256, deadline: uint256, v: uint8, r: bytes32, s: bytes32):
    """
    @notice EIP-2612: set an allowance by the owner's signature.
    """
    assert block.timestamp <= deadline, "permit: deadline has passed"
    assert convert(s, uint256) <= HALF_ORDER, "permit: signature is malleable"
    nonce: uint256 = self.nonces[owner]
    digest: bytes32 = keccak256(
        concat(
            b"\x19\x01",
            self._domain_separator(),
            keccak256(abi_encode(PERMIT_TYPE_HASH, owner, spender, amount, nonce, deadline)),
        )
    )
    signer: address = ecrecover(digest, v, r, s)
    assert signer != empty(address) and signer == owner, "permit: signature is not the owner's"
    self.nonces[owner] = nonce + 1
    self._approve(owner, spender, amount)


@external
def mint(receiver: address, amount: uint256):
    self._mint(receiver, amount)


@external
def set_minter(minter: address):
    assert msg.sender == self.minter, "set_minter: caller is not the minter"
    self.minter = minter


@internal
@view
def _domain_separator() -> bytes32:
    return keccak256(
        abi_encode(DOMAIN_TYPE_HASH, keccak256(self.name), keccak256(self.version), chain.id, self)
    )


@internal
def _approve(owner: address, spender: address, amount: uint256):
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, value=amount)


@internal
def _mint(receiver: address, amount: uint256):
    assert msg.sender == self.minter, "mint: caller is not the minter"
    self.totalSupply += amount
    # Balances add up to the supply, which fits.
    self.balanceOf[receiver] = unsafe_add(self.balanceOf[receiver], amount)
    log Transfer(sender=empty(address), receiver=receiver, value=amount)


@internal
def _transfer(sender: address, receiver: address, amount: uint256):
    balance: uint256 = self.balanceOf[sender]
    assert balance >= amount, "transfer: amount exceeds balance"
    self.balanceOf[sender] = unsafe_sub(balance, amount)
    # Balances add up to the supply, which fits.
    self.balanceOf[receiver] = unsafe_add(self.balanceOf[receiver], amount)
    log Transfer(sender=sender, receiver=receiver, value=amount)


@internal
def _spend(owner: address, spender: address, amount: uint256):
    allowed: uint256 = self.allowance[owner][spender]
    if allowed != max_value(uint256):
        assert allowed >= amount, "transferFrom: amount exceeds allowance"
        self.allowance[owner][spender] = unsafe_sub(allowed, amount)
