"""What the reverts of Morpho Blue, MetaMorpho and the public allocator mean, in words.

Blue reverts with texts, the others with custom errors. The sentences are ours: what went wrong and, behind a semicolon,
what to do about it; those of texts are what to do alone, since the text says what went wrong.
"""

from __future__ import annotations

from typing import Final

MORPHO_TEXTS: Final[dict[str, str]] = {
    "not owner": "only the owner of the contract may do this",
    "max LLTV exceeded": "an LLTV is below 100 %",
    "max fee exceeded": "the fee of a market is at most 25 % of the interest",
    "already set": "it has this value already",
    "IRM not enabled": "the owner enables interest rate models; take the adaptive curve IRM",
    "LLTV not enabled": "the owner enables LLTVs: 38.5, 62.5, 77, 86, 91.5, 94.5, 96.5 or 98 % on Ethereum",
    "market already created": "a market is its five parameters; use the one there is",
    "market not created": "create the market first, or check all five parameters: the id is their hash",
    "no code": "the token is an address without a contract; check it and the chain",
    "inconsistent input": "give assets or shares, and zero for the other",
    "zero assets": "give an amount above zero",
    "unauthorized": "the account has to authorise the sender first",
    "insufficient collateral": "borrow or withdraw less, or put up more collateral",
    "insufficient liquidity": "the rest is with borrowers; take less, or wait until some repay",
    "position is healthy": "an account can be liquidated when it owes more than the LLTV allows",
    "max uint128 exceeded": "an amount has to be below 2**128",
    "negative answer": "a price feed of the market's oracle has a price below zero",
}

MORPHO_ERRORS: Final[dict[str, str]] = {
    "AboveMaxTimelock()": "the timelock is above two weeks",
    "AllCapsReached()": "the caps of all markets in the supply queue are reached; deposit less, or raise a cap",
    "AlreadyPending()": "this value waits for its timelock already; accept it later",
    "AlreadySet()": "it has this value already",
    "BelowMinTimelock()": "the timelock is below a day",
    "DuplicateMarket(bytes32 id)": "the market is in the queue twice",
    "InconsistentAsset(bytes32 id)": "the market lends another token than the vault's asset",
    "InconsistentReallocation()": "more is moved out than in, or the reverse; let the last market take all the rest",
    "InvalidMarketRemovalNonZeroCap(bytes32 id)": "the market still has a cap; set it to zero first",
    "InvalidMarketRemovalNonZeroSupply(bytes32 id)": "the vault still has assets in the market; move them first",
    "InvalidMarketRemovalTimelockNotElapsed(bytes32 id)": "the removal waits for its timelock",
    "MarketNotCreated()": "Morpho has no market with these parameters; create it first",
    "MarketNotEnabled(bytes32 id)": "the vault does not use this market; submit and accept a cap first",
    "MaxFeeExceeded()": "the fee of a vault is at most 50 % of the interest",
    "MaxQueueLengthExceeded()": "a queue has at most 30 markets",
    "NoPendingValue()": "nothing waits to be accepted; submit it first",
    "NotAllocatorRole()": "only an allocator, the curator or the owner of the vault may do this",
    "NotCuratorRole()": "only the curator or the owner of the vault may do this",
    "NotGuardianRole()": "only the guardian or the owner of the vault may do this",
    "NotEnoughLiquidity()": "the vault's markets have not so much that is not borrowed; withdraw less, or wait",
    "PendingCap(bytes32 id)": "a cap of this market waits for its timelock",
    "PendingRemoval()": "the market is about to be removed",
    "SupplyCapExceeded(bytes32 id)": "the vault's cap of the market would be exceeded; move less, or raise the cap",
    "TimelockNotElapsed()": "the timelock has not passed; wait",
    "UnauthorizedMarket(bytes32 id)": "the vault has no cap for this market; submit and accept one first",
    "ZeroFeeRecipient()": "a fee needs a recipient; set that first",
    "DepositMarketInWithdrawals()": "the market that receives is also among those that give",
    "EmptyWithdrawals()": "no market gives anything",
    "InconsistentWithdrawals()": "the markets that give are not in the order of their ids, or one is there twice",
    "IncorrectFee()": "the value sent is not the allocator's fee of this vault",
    "MaxInflowExceeded(bytes32 id)": "the allocator may not move so much into it; `flow_caps` says how much",
    "MaxOutflowExceeded(bytes32 id)": "the allocator may not take so much out of it; `flow_caps` says how much",
    "MaxSettableFlowCapExceeded()": "a flow cap is at most 2**127 - 1",
    "NotAdminNorVaultOwner()": "only the vault's owner, or its admin at the allocator, may do this",
    "NotEnoughSupply(bytes32 id)": "the vault has less than that in the market",
    "WithdrawZero(bytes32 id)": "nothing is taken out of the market; leave it out",
}
