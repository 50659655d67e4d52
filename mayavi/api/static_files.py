"""Files of a folder, read once: known names only, compressed variants, caching."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import Response

BUILT = Path(__file__).parent / "dashboard"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""Types of the files that are served; others are not."""
ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Compressed variants in order of preference: the build writes them beside the files."""
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file in memory with its compressed variants."""

    type: str
    body: bytes
    tag: str
    caching: str
    variants: dict[str, bytes]

    def answer(self, accept_encoding: str, if_none_match: str) -> Response:
        """Return the smallest variant that the client takes, or 304 if it has the file."""
        headers = {"Cache-Control": self.caching, "ETag": self.tag, "Vary": "Accept-Encoding"}
        if self.tag in (each.strip() for each in if_none_match.split(",")):
            return Response(status_code=304, headers=headers)
        taken = {each.split(";")[0].strip() for each in accept_encoding.split(",") if not each.endswith("q=0")}
        for encoding, body in self.variants.items():
            if encoding in taken:
                return Response(body, headers={**headers, "Content-Encoding": encoding}, media_type=self.type)
        return Response(self.body, headers=headers, media_type=self.type)


@dataclass(slots=True)
class StaticFolder:
    """A folder that a build writes. A new build is noticed by its `index.html`."""

    folder: Path
    _files: dict[str, StaticFile] = field(default_factory=dict)
    _read_at: int | None = None

    def find(self, name: str) -> StaticFile | None:
        """Return the file of this name. Names are compared with those of the folder, never opened."""
        changed_at = self._changed_at()
        if changed_at != self._read_at:
            self._files = self._read()
            self._read_at = changed_at
        return self._files.get(name)

    def _changed_at(self) -> int | None:
        try:
            return (self.folder / "index.html").stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def _read(self) -> dict[str, StaticFile]:
        paths = [path for path in self.folder.rglob("*") if path.suffix in TYPES and path.is_file()]
        return {path.relative_to(self.folder).as_posix(): self._file(path) for path in paths}

    def _file(self, path: Path) -> StaticFile:
        body = path.read_bytes()
        hashed = path.parent.name == "assets"  # their names change with their content
        variants = {name: Path(f"{path}{suffix}") for name, suffix in ENCODINGS.items()}
        return StaticFile(
            type=TYPES[path.suffix],
            body=body,
            tag=f'"{hashlib.sha256(body).hexdigest()[:24]}"',
            caching=FOREVER if hashed else "no-cache",
            variants={name: variant.read_bytes() for name, variant in variants.items() if variant.is_file()},
        )
