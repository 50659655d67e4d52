# pragma version ~=0.4.3
"""
@title A token with a fixed supply, all of which the deployer gets
"""

from ethereum.ercs import IERC20

implements: IERC20

name: public(constant(String[4])) = "Gold"
symbol: public(constant(String[4])) = "GOLD"
decimals: public(constant(uint8)) = 18
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@deploy
def __init__(supply: uint256):
    self.totalSupply = supply
    self.balanceOf[msg.sender] = supply
    log IERC20.Transfer(sender=empty(address), receiver=msg.sender, value=supply)


@external
def transfer(to: address, amount: uint256) -> bool:
    self._move(msg.sender, to, amount)
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    self._move(owner, to, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log IERC20.Approval(owner=msg.sender, spender=spender, value=amount)
    return True


@internal
def _move(owner: address, to: address, amount: uint256):
    self.balanceOf[owner] -= amount
    self.balanceOf[to] += amount
    log IERC20.Transfer(sender=owner, receiver=to, value=amount)
