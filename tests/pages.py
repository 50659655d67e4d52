"""Read a documentation page and run its code blocks and commands.

A page is a Markdown file. Its Python blocks share one namespace, and a plain block right after a Python block is the
output that the page claims:

    ```python
    print(1 + 1)
    ```

    ```
    2
    ```
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"

_PYTHON_AND_OUTPUT = re.compile(r"^```python\n(.*?)^```(?:\n\n```\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Page:
    """One Markdown file of the repository."""

    path: Path

    @property
    def name(self) -> str:
        """The path inside the repository."""
        return self.path.relative_to(REPOSITORY).as_posix()

    @property
    def text(self) -> str:
        """The whole page."""
        return self.path.read_text(encoding="utf-8")

    def section(self, title: str) -> str:
        """The text below the second-level heading `title`, without the heading."""
        found = self.text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert found, f"{self.name} has no section '{title}'"
        return found

    def blocks(self, language: str = "") -> list[str]:
        """The contents of all fenced blocks marked with exactly `language`."""
        found = re.findall(r"^```([^\n]*)\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)
        return [content for mark, content in found if mark == language]

    def only_block(self, language: str = "") -> str:
        """The one fenced block marked with `language`."""
        (block,) = self.blocks(language)
        return block

    def block_starting(self, beginning: str) -> str:
        """The one unmarked block that starts with `beginning`."""
        (block,) = [block for block in self.blocks() if block.startswith(beginning)]
        return block

    def commands(self, beginning: str = "mayavi ") -> list[str]:
        """The indented command lines that start with `beginning`, without the indentation."""
        return re.findall(rf"^    ({re.escape(beginning)}[^\n]*)$", self.text, re.MULTILINE)

    def run_python(self, *, shared: bool = True) -> list[str]:
        """Run every Python block in order and check each output that the page shows.

        Blocks share one namespace unless `shared` is false. Returns the printed texts.
        """
        steps = _PYTHON_AND_OUTPUT.findall(self.text)
        assert steps, f"{self.name} has no Python block"
        namespace: dict[str, Any] = {}
        outputs = []
        for code, shown in steps:
            printed = self.execute(code, namespace if shared else {})
            assert printed == shown
            outputs.append(printed)
        return outputs

    def execute(self, code: str, namespace: dict[str, Any] | None = None) -> str:
        """Run one block and return what it prints; tracebacks name the page."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, self.name, "exec"), {} if namespace is None else namespace)
        return printed.getvalue()

    def anchors(self) -> set[str]:
        """The anchors of the headings, as GitHub and MkDocs make them."""
        found: set[str] = set()
        for heading in _HEADING.findall(without_fences(self.text)):
            slug = slug_of(heading)
            number = next(n for n in range(1000) if (f"{slug}-{n}" if n else slug) not in found)
            found.add(f"{slug}-{number}" if number else slug)
        return found

    def links(self) -> list[str]:
        """The targets of all links and images that are not URLs."""
        return [target for target in _LINK.findall(without_code(self.text)) if "://" not in target]


def page(name: str) -> Page:
    """The page at a path inside `docs/`."""
    return Page(DOCS / name)


def pages(folder: str) -> list[Page]:
    """The pages of a folder inside `docs/`, sorted by name."""
    return [Page(path) for path in sorted((DOCS / folder).glob("*.md"))]


def without_fences(text: str) -> str:
    """`text` without its fenced blocks, whose comments are no headings."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def without_code(text: str) -> str:
    """`text` without fenced blocks and inline code, so that their brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", without_fences(text))


def slug_of(heading: str) -> str:
    """The anchor of a heading: lower case, punctuation dropped, spaces as hyphens."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
