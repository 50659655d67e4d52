# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Name, symbol and permissions of a Comet market
@notice A module, not a contract: on mainnet most of this is in an extension the market delegates to. A manager may do
        everything for an owner or nothing.
"""

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    amount: uint256

ALL: constant(uint256) = max_value(uint256)
AUTHORIZATION_TYPE_HASH: constant(bytes32) = keccak256(
    "Authorization(address owner,address manager,bool isAllowed,uint256 nonce,uint256 expiry)"
)
DOMAIN_TYPE_HASH: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
# Half the order of secp256k1: a signature with a larger `s` is the malleable twin of another.
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

version: public(constant(String[1])) = "0"
name: public(immutable(String[32]))
symbol: public(immutable(String[32]))
isAllowed: public(HashMap[address, HashMap[address, bool]])
userNonce: public(HashMap[address, uint256])


@deploy
def __init__(name_: String[32], symbol_: String[32]):
    name = name_
    symbol = symbol_


@external
@view
def hasPermission(owner: address, manager: address) -> bool:
    return self._may_act(owner, manager)


@external
@view
def allowance(owner: address, spender: address) -> uint256:
    return ALL if self._may_act(owner, spender) else 0


@external
def allow(manager: address, isAllowed_: bool):
    self._allow(msg.sender, manager, isAllowed_)


@external
def approve(spender: address, amount: uint256) -> bool:
    """
    @notice As `allow`: the amount must be the largest number or zero.
    """
    if amount != 0 and amount != ALL:
        raw_revert(method_id("BadAmount()"))
    self._allow(msg.sender, spender, amount == ALL)
    return True


@external
def allowBySig(
    owner: address,
    manager: address,
    isAllowed_: bool,
    nonce: uint256,
    expiry: uint256,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    """
    @notice `allow` by the owner's EIP-712 signature.
    """
    if convert(s, uint256) > HALF_ORDER:
        raw_revert(method_id("InvalidValueS()"))
    if v != 27 and v != 28:
        raw_revert(method_id("InvalidValueV()"))
    domain: bytes32 = keccak256(
        abi_encode(DOMAIN_TYPE_HASH, keccak256(name), keccak256(version), chain.id, self)
    )
    digest: bytes32 = keccak256(
        concat(
            b"\x19\x01",
            domain,
            keccak256(abi_encode(AUTHORIZATION_TYPE_HASH, owner, manager, isAllowed_, nonce, expiry)),
        )
    )
    signer: address = ecrecover(digest, v, r, s)
    if signer == empty(address) or signer != owner:
        raw_revert(method_id("BadSignatory()"))
    if nonce != self.userNonce[owner]:
        raw_revert(method_id("BadNonce()"))
    if block.timestamp >= expiry:
        raw_revert(method_id("SignatureExpired()"))
    self.userNonce[owner] = nonce + 1
    self._allow(owner, manager, isAllowed_)


@internal
@view
def _may_act(owner: address, manager: address) -> bool:
    return owner == manager or self.isAllowed[owner][manager]


@internal
def _allow(owner: address, manager: address, allowed: bool):
    self.isAllowed[owner][manager] = allowed
    log Approval(owner=owner, spender=manager, amount=ALL if allowed else 0)
