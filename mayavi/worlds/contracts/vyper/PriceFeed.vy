# pragma version 0.4.3
# pragma evm-version paris
# @license Apache-2.0
"""
@title Chainlink-compatible price feed of a replica
@notice Answers AggregatorInterface and AggregatorV3Interface. The owner posts a new round; earlier rounds stay readable.
        On mainnet a proxy forwards to an aggregator that oracles report to; here `aggregator()` is the feed itself.
"""

event AnswerUpdated:
    current: indexed(int256)
    roundId: indexed(uint256)
    updatedAt: uint256

event NewRound:
    roundId: indexed(uint256)
    startedBy: indexed(address)
    startedAt: uint256

struct Round:
    answer: int256
    updated_at: uint256

# The newest round lies in the first three slots, so that one cold read gives the price.
latestAnswer: public(int256)
latestTimestamp: public(uint256)
_latest_round: uint80
owner: public(address)
_rounds: HashMap[uint256, Round]
description: public(String[64])
decimals: public(immutable(uint8))

version: public(constant(uint256)) = 4


@deploy
def __init__(
    description: String[64], decimals_: uint8, answer: int256, round_id: uint80, updated_at: uint256, owner: address
):
    self.description = description
    decimals = decimals_
    self.owner = owner
    self._post(round_id, answer, updated_at)


@external
@view
def latestRound() -> uint256:
    return convert(self._latest_round, uint256)


@external
@view
def latestRoundData() -> (uint80, int256, uint256, uint256, uint80):
    round_id: uint80 = self._latest_round
    updated_at: uint256 = self.latestTimestamp
    return round_id, self.latestAnswer, updated_at, updated_at, round_id


@external
@view
def getRoundData(round_id: uint80) -> (uint80, int256, uint256, uint256, uint80):
    round: Round = self._rounds[convert(round_id, uint256)]
    assert round.updated_at != 0, "No data present"
    return round_id, round.answer, round.updated_at, round.updated_at, round_id


@external
@view
def getAnswer(round_id: uint256) -> int256:
    return self._rounds[round_id].answer


@external
@view
def getTimestamp(round_id: uint256) -> uint256:
    return self._rounds[round_id].updated_at


@external
@view
def aggregator() -> address:
    return self


@external
def set_answer(answer: int256):
    """
    @notice Post `answer` as the next round, at the time of this block.
    """
    assert msg.sender == self.owner, "set_answer: caller is not the owner"
    self._post(self._latest_round + 1, answer, block.timestamp)


@external
def set_owner(owner: address):
    assert msg.sender == self.owner, "set_owner: caller is not the owner"
    self.owner = owner


@internal
def _post(round_id: uint80, answer: int256, updated_at: uint256):
    self._latest_round = round_id
    self.latestAnswer = answer
    self.latestTimestamp = updated_at
    round: uint256 = convert(round_id, uint256)
    self._rounds[round] = Round(answer=answer, updated_at=updated_at)
    log NewRound(roundId=round, startedBy=msg.sender, startedAt=updated_at)
    log AnswerUpdated(current=answer, roundId=round, updatedAt=updated_at)
