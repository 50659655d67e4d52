"""Compiled templates in Mayavi's cache directory: compiling those of a report takes longer than filling them in."""

from __future__ import annotations

from types import CodeType

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from mayavi.startup.code_files import code_folder, read_code, write_code


class KeptTemplates(BytecodeCache):
    """Bytecode of templates, each valid for one source text and one version of Jinja."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket the code that is kept, if there is any for its source."""
        found = read_code(f"{self._folder}/{bucket.key}", _version(bucket))
        if isinstance(found, CodeType):
            bucket.code = found

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of the bucket."""
        write_code(f"{self._folder}/{bucket.key}", bucket.code, _version(bucket))


def kept_templates() -> KeptTemplates | None:
    """Return the templates of this user; None without a home directory."""
    folder = code_folder()
    return None if folder is None else KeptTemplates(f"{folder}/templates")


def _version(bucket: Bucket) -> str:
    return f"{jinja2.__version__} {bucket.checksum}"
