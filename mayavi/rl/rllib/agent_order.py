"""Iterate over the agents of RLlib's multi-agent episodes in a fixed order.

RLlib keeps agent ids in sets, whose order follows Python's hash seed. The rows of every batch follow that order: with
it the drawn actions, the minibatches and the weights would differ from process to process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class SortedIds(set[Any]):
    """Set that is iterated in sorted order."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__()))


def sort_agents() -> None:
    """Make RLlib's episodes name their agents in sorted order, in this process; again has no effect."""
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

    if isinstance(MultiAgentEpisode.agent_ids, _SortedAgentIds):
        return
    MultiAgentEpisode.agent_ids = _SortedAgentIds(MultiAgentEpisode.agent_ids.fget)
    for name in ("get_agents_that_stepped", "get_agents_to_act"):
        setattr(MultiAgentEpisode, name, _sorted_result(getattr(MultiAgentEpisode, name)))


class _SortedAgentIds(property):
    """Property whose value is iterated in sorted order."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        found = super().__get__(instance, owner)
        return found if instance is None else SortedIds(found)


def _sorted_result(method: Any) -> Any:
    def ids(episode: Any) -> SortedIds:
        return SortedIds(method(episode))

    return ids
