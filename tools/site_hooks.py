"""MkDocs hooks: publish the pages outside `docs/`, rewrite links to them, and draw diagrams without a network.

CONTRIBUTING.md and CHANGELOG.md become pages of the site. A link to any other file outside `docs/`, such as an
example, becomes plain text: the site has no copy of it. `members: __all__` on a page of the Python API becomes the list
of the package's public names, which MkDocs cannot see because they are imported lazily.
"""

from __future__ import annotations

import posixpath
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
PUBLISHED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "README.md"}
"""Page of the repository -> page of the site."""
MERMAID = REPOSITORY / "tools" / "site" / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
"""Script that draws diagrams in the reader's browser. Material would load one from the network."""
DIAGRAMS = "assets/mermaid.js"
"""The same script on the site."""

_ALL_NAMES = re.compile(r"(?P<block>^::: (?P<package>[\w.]+)\n(?:    .*\n)*?      )members: __all__$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add CONTRIBUTING.md and CHANGELOG.md, their links rewritten for the site, and the script for diagrams."""
    from mkdocs.exceptions import Abort
    from mkdocs.structure.files import File

    if not MERMAID.is_file():
        raise Abort("Mermaid is not installed: `make docs` installs it")
    files.append(File.generated(config, DIAGRAMS, abs_src_path=str(MERMAID)))

    for source, target in PUBLISHED.items():
        if source != target:
            text = (REPOSITORY / source).read_text(encoding="utf-8")
            files.append(File.generated(config, target, content=rewrite_links(text, source, target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite links that leave `docs/`, and list public names."""
    uri = page.file.src_uri
    markdown = _ALL_NAMES.sub(list_names, markdown)
    added = uri in {"contributing.md", "changelog.md"}  # rewritten when they were added
    return markdown if added else rewrite_links(markdown, f"docs/{uri}", uri)


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Load the script for diagrams on the pages that have one."""
    if '<pre class="mermaid">' not in html:
        return html
    path = posixpath.relpath(DIAGRAMS, posixpath.dirname(page.file.dest_uri) or ".")
    return f'{html}\n<script src="{path}"></script>'


def list_names(found: re.Match[str]) -> str:
    """Replace `members: __all__` by the public names of the package that the block documents."""
    if str(REPOSITORY) not in sys.path:
        sys.path.insert(0, str(REPOSITORY))
    names = sorted(import_module(found["package"]).__all__, key=str.lower)
    return f"{found['block']}members: [{', '.join(names)}]"


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
