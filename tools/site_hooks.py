"""MkDocs hooks: publish the pages outside `docs/` and rewrite links to them.

CONTRIBUTING.md and CHANGELOG.md become pages of the site. A link to any other file outside `docs/`, such as an
example, becomes plain text: the site has no copy of it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
PUBLISHED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "README.md"}
"""Page of the repository -> page of the site."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add CONTRIBUTING.md and CHANGELOG.md, their links rewritten for the site."""
    from mkdocs.structure.files import File

    for source, target in PUBLISHED.items():
        if source != target:
            text = (REPOSITORY / source).read_text(encoding="utf-8")
            files.append(File.generated(config, target, content=rewrite_links(text, source, target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite links that leave `docs/`."""
    uri = page.file.src_uri
    added = uri in {"contributing.md", "changelog.md"}  # rewritten when they were added
    return markdown if added else rewrite_links(markdown, f"docs/{uri}", uri)


def rewrite_links(text: str, source: str, target: str) -> str:
    """Links of the repository's page `source` as links of the site's page `target`."""

    def rewrite(found: re.Match[str]) -> str:
        label, link, anchor = found[1], found[2], found[3] or ""
        if "://" in link:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        inside = path.removeprefix("docs/") if path.startswith("docs/") else PUBLISHED.get(path)
        if inside is None or not inside.endswith(".md"):
            return label
        return f"[{label}]({posixpath.relpath(inside, posixpath.dirname(target) or '.')}{anchor})"

    return _LINK.sub(rewrite, text)
