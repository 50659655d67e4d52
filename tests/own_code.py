"""Modules, packages and entry points of a user in a temporary folder, forgotten after the test."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

SAVER = """
from mayavi.agents import Agent
from mayavi.scenarios.setting_types import Distribution, OwnAgentSettings, Symbol


class Saver(Agent):
    class Settings(OwnAgentSettings):
        asset: Symbol = "USDC"
        amount: Distribution = 10

    def __init__(self, name, *, asset, amount):
        super().__init__(name)
        self.asset, self.amount = asset, amount

    def step(self, world, step_idx):
        return self.does("save", lambda: {"saved": int(self.amount * 10**6)})
"""
SCENARIO = """chain: ethereum
steps: 2
step_time: 1h
agents:
  savers: {kind: saver:Saver, count: 3, amount: {uniform: [1, 1_000]}, priority_fee: 3 gwei}
"""
VAULT = """
from decimal import Decimal

from mayavi.scenarios.setting_types import OwnProtocolSettings, Positive


class Vault:
    class Settings(OwnProtocolSettings):
        ether: Positive = Decimal(1)

    def __init__(self, fork):
        self.fork = fork

    @classmethod
    def deploy(cls, fork, settings):
        fork.labels["Vault"] = "0x" + "ab" * 20
        fork.deal("ETH", "Vault", int(settings.ether * 10**18))

    def figures(self):
        return {"assets": (self.fork.balance("Vault"), "e18")}
"""
WALK = """
import numpy as np
from gymnasium import spaces

from mayavi.gym_env.configuration import EnvConfig
from mayavi.gym_env.rows import RowsEnv


class WalkRows(RowsEnv[EnvConfig]):
    config_type = EnvConfig
    world_digest = "no chain"
    strategies = {"noop": lambda env: np.zeros(env.rows, dtype=np.int64)}

    def __init__(self, config, rows=1, *, threads=None):
        super().__init__(config, rows, threads=threads)
        self.columns["place"] = np.zeros(rows)
        self.observation_space = spaces.Box(-100.0, 100.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def start(self, rows, rngs):
        self.columns["place"][rows] = [rng.normal() for rng in rngs]

    def apply(self, actions, live):
        self.columns["place"] += np.where(live, actions, 0)

    def observe(self):
        return self.within_bounds(self.columns["place"][:, None])

    def rewards(self):
        return self.columns["place"].copy(), np.zeros(self.rows, dtype=np.bool_)

    def exact(self):
        return {"place": [int(each * 1000) for each in self.columns["place"]]}
"""


class OwnCode:
    """A folder with code of a user; `forget` undoes everything that its imports left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = folder / "packages"
        self._path, self._modules = list(sys.path), set(sys.modules)

    def write(self, **files: str) -> Path:
        """Write modules by name, `saver="…"`; returns the folder."""
        for name, text in files.items():
            place = self.folder.joinpath(*name.split("__in__")).with_suffix(".py")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return self.folder

    def scenario(self, text: str = SCENARIO, name: str = "saving.yaml") -> Path:
        """Write a scenario beside the modules."""
        (self.folder / name).write_text(text)
        return self.folder / name

    def install(
        self, package: str, groups: Mapping[str, str], files: Mapping[str, str], *, version: str = "1.0"
    ) -> None:
        """Install a package: its files, and by group the lines `name = module:object` of its entry points."""
        facts = self.packages / f"{package.replace('-', '_')}-{version}.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [f"[{group}]\n{entries}\n" for group, entries in groups.items()]
        (facts / "entry_points.txt").write_text("\n".join(lines))
        for name, text in files.items():
            (self.packages / name).parent.mkdir(parents=True, exist_ok=True)
            (self.packages / name).write_text(text)
        if str(self.packages) not in sys.path:
            sys.path.append(str(self.packages))
        importlib.invalidate_caches()

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a new process finds the installed packages."""
        return {"PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(self.packages)])}

    def forget(self) -> None:
        """Remove what was imported and registered from the folder."""
        from mayavi.protocols import registry as protocols
        from mayavi.scenarios.build.agents import registry as kinds

        sys.path[:] = self._path
        for name in set(sys.modules) - self._modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]
        for registered in (kinds._kinds, protocols._loaded):
            for name in [each for each, kept in registered.items() if getattr(kept, "provenance", None)]:
                del registered[name]
        importlib.invalidate_caches()
