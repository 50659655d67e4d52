"""Write the OpenAPI document of the service to web/openapi.json, from which the dashboard's types are made.

PYTHONPATH=. .venv/bin/python tools/openapi_document.py            # write
PYTHONPATH=. .venv/bin/python tools/openapi_document.py --check    # compare
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from mayavi.api.app import create_app
from mayavi.api.settings import ServiceSettings

PLACE = Path(__file__).parent.parent / "web" / "openapi.json"


def document_text() -> str:
    """Return the document as it stands in the file."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ServiceSettings(data=Path(folder), store=Path(folder) / "runs.duckdb")
        document = create_app(settings).openapi()
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if the file is out of date, and write nothing")
    if not parser.parse_args().check:
        PLACE.write_text(document_text(), "utf-8")
    elif PLACE.read_text("utf-8") != document_text():
        sys.exit("web/openapi.json is out of date: run `PYTHONPATH=. .venv/bin/python tools/openapi_document.py`")


if __name__ == "__main__":
    main()
