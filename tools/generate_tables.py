"""Write `mayavi/worlds/tables/<chain>.json`: the facts that replicas are built from.

    python tools/generate_tables.py [CHAIN…] [--cases ../shared] [--packages DIR] [--check]

Every table takes its addresses, parameters and prices from its sources only. The sources of all chains are

- the npm packages `@aave-dao/aave-address-book`, `@aave/deploy-v3` and `@curvefi/api`, fetched with `npm pack` unless
  `--packages` names a folder that holds them, unpacked,
- single facts in `tools/facts/`, each with its source.

Ethereum's tables also need the configuration of Aave V3 Ethereum of 31 October 2023 and the prices around their blocks,
from `--cases`; `tools/ethereum_days.py` lists the blocks. The other chains take their prices from Ethereum's table.

`--check` writes nothing and fails if a committed table differs from its sources. `tables/SHA256SUMS` is written too,
so that the test suite notices a table that was edited by hand without the network.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from compound_facts import make_compound
from curve_facts import make_curve
from ethereum_days import DATED, JANUARY_2024
from ethereum_table import make_ethereum
from facts.arbitrum import ARBITRUM
from facts.avalanche import AVALANCHE
from facts.base import BASE
from facts.optimism import OPTIMISM
from facts.polygon import POLYGON
from market_table import make_chain
from npm_packages import Packages, fetch_packages
from spark_section import make_spark

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "mayavi" / "worlds" / "tables"
FACTS = {facts.chain: facts for facts in (ARBITRUM, OPTIMISM, POLYGON, BASE, AVALANCHE)}
DAYS = {f"ethereum-{day.block['number']}": day for day in DATED}
CHAINS = ["ethereum", *FACTS, *DAYS]


def main() -> int:
    """Write the tables, or compare them with their sources."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("chains", nargs="*", metavar="CHAIN", help=f"some of {', '.join(CHAINS)}; all by default")
    parser.add_argument(
        "--cases", type=Path, default=ROOT.parent / "shared", help="folder with aave/, market/ and prices/"
    )
    parser.add_argument("--packages", type=Path, help="folder with the npm packages, unpacked under their names")
    parser.add_argument("--check", action="store_true", help="compare with the committed tables, write nothing")
    options = parser.parse_args()
    if unknown := [chain for chain in options.chains if chain not in CHAINS]:
        parser.error(f"unknown chain '{unknown[0]}'; there are: {', '.join(CHAINS)}")
    finish = differs if options.check else write
    with tempfile.TemporaryDirectory() as scratch:
        packages = Packages(options.packages or fetch_packages(Path(scratch)))
        failed = [finish(chain, make_table(chain, options.cases, packages)) for chain in options.chains or CHAINS]
    if not options.check:
        write_sums()
    return 1 if any(failed) else 0


def write_sums() -> None:
    """Write the checksum of every table in the format of `sha256sum`."""
    tables = sorted(TABLES.glob("*.json"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in tables]
    (TABLES / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def make_table(chain: str, cases: Path, packages: Packages) -> dict[str, Any]:
    """Build a table in the format of `mayavi.worlds.tables.chain.ChainTable`."""
    if chain in DAYS:
        return make_ethereum(cases, packages, DAYS[chain])
    if chain == "ethereum":
        table = make_ethereum(cases, packages, JANUARY_2024)
        table = with_protocol(table, "spark", make_spark(table["tokens"], table["feeds"]))
    else:
        ethereum = json.loads((TABLES / "ethereum.json").read_text(encoding="utf-8"))
        table = make_chain(FACTS[chain], packages, ethereum["feeds"])
    table = with_protocol(table, "compound", make_compound(chain, packages))
    return with_protocol(table, "curve", make_curve(chain, packages))


def with_protocol(table: dict[str, Any], key: str, facts: dict[str, Any] | None) -> dict[str, Any]:
    """Add a section to a table, with the tokens and feeds that it needs."""
    if facts is None:
        return table
    merged = {**table, "sources": [*table["sources"], *facts["sources"]]}
    texts = [{"subject": subject, "text": text} for subject, text in facts["differences"].items()]
    merged["differences"] = [*table["differences"], *texts]
    for kind in ("tokens", "feeds"):
        there = {entry["address"].lower() for entry in table[kind].values()}
        new = {name: entry for name, entry in facts[kind].items() if entry["address"].lower() not in there}
        assert not new.keys() & table[kind].keys(), f"{key} and the rest give one name to two {kind}"
        merged[kind] = {**table[kind], **new}
    return {**merged, key: facts["section"]}


def write(chain: str, table: dict[str, Any]) -> bool:
    """Write a table; return False, as `differs` does for an equal one."""
    path = TABLES / f"{chain}.json"
    path.write_text(text_of(table), encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return False


def differs(chain: str, table: dict[str, Any]) -> bool:
    """Whether the committed table differs from its sources; print an error if so."""
    path = TABLES / f"{chain}.json"
    if path.exists() and path.read_text(encoding="utf-8") == text_of(table):
        return False
    print(f"error: {path.relative_to(ROOT)} differs from its sources\n  run this script without --check")
    return True


def text_of(table: dict[str, Any]) -> str:
    """Text of a table as committed."""
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
