"""Read a Dockerfile: its stages and their instructions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    """One `FROM` and what follows it."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """The arguments of every instruction `word`."""
        return [arguments for each, arguments in self.instructions if each == word]

    def last(self, word: str) -> str:
        """The arguments of the last instruction `word`."""
        return self.all(word)[-1]

    def array(self, word: str) -> list[str]:
        """The arguments of the last instruction `word`, in JSON's form."""
        found: list[str] = json.loads(self.last(word))
        return found


@dataclass(frozen=True)
class Copy:
    """One `COPY`: where from, what, and where to."""

    stage: str | None
    sources: tuple[str, ...]
    target: str


def read_stages(path: Path) -> list[Stage]:
    """Return the stages; lines that end with a backslash go on, comments are left out."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        word, _, arguments = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = arguments.partition(" AS ")
            stages.append(Stage(base, name))
        elif word:
            stages[-1].instructions.append((word, arguments.strip()))
    return stages


def copies(stage: Stage) -> list[Copy]:
    """Return what a stage copies."""
    found = []
    for arguments in stage.all("COPY"):
        words = arguments.split()
        options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
        *sources, target = (word for word in words if not word.startswith("--"))
        found.append(Copy(options.get("from"), tuple(sources), target))
    return found
