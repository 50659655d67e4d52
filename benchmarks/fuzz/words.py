"""Random words: edges, small numbers, and numbers of every width."""

from __future__ import annotations

import random

LARGEST = 2**256 - 1
EDGES = [
    0, 1, 2, 3, 7, 31, 32, 33, 77, 255, 256, 257, 2**31, 2**32, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**127, 2**128 - 1,
    2**128, 2**128 + 1, 2**160 - 1, 2**192, 2**255 - 1, 2**255, 2**255 + 1, 2**256 - 2, LARGEST, 10**6, 10**18, 10**27,
]  # fmt: skip


SCALES = [3, 7, 10**6, 10**9 + 7, 10**18, 10**27, 10**36, 2**96 - 1, 2**128 + 1, 2**160 + 7, 365 * 86_400]
"""Constants that contracts multiply and divide by."""


def small(rng: random.Random) -> int:
    """Draw a small number."""
    return rng.randrange(8)


def constant(rng: random.Random) -> int:
    """Draw a constant of a contract."""
    drawn = rng.random()
    if drawn < 0.4:
        return small(rng)
    return rng.choice(EDGES) if drawn < 0.8 else wide(rng)


def wide(rng: random.Random) -> int:
    """Draw a number of any width."""
    return rng.getrandbits(rng.randrange(1, 257))


def pool(rng: random.Random, count: int, scale: int) -> list[int]:
    """Draw the words of a case, some of them multiples of `scale`: few, since equal words take equal paths."""
    words: list[int] = []
    for _ in range(count):
        drawn = rng.random()
        if drawn < 0.35:
            words.append(rng.randrange(16))
        elif drawn < 0.6:
            words.append(rng.choice(EDGES))
        elif drawn < 0.75 and words:
            words.append((rng.choice(words) + rng.choice([-1, 1, 2**64, -(2**128), 2**255])) % 2**256)
        elif drawn < 0.8:
            words.append(rng.getrandbits(256) | rng.getrandbits(256))  # nearly no zero bytes
        elif drawn < 0.92:
            bits = rng.randrange(190, 257) if rng.random() < 0.5 else rng.randrange(1, 257)
            words.append(max(0, rng.getrandbits(bits) // scale * scale + rng.choice([0, 0, 0, -1, 1])))
        else:
            words.append(wide(rng))
    return words
