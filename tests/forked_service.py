"""The service of the benchmarks as a fork, which starts in a tenth of the time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.subjects.service import ServiceProcess
from tests.command_server import CommandServer


class ForkedService(ServiceProcess):
    """`mayavi serve` in a fork of `commands`; in a new interpreter without it."""

    def __init__(self, folder: Path, commands: CommandServer | None, *options: str) -> None:
        super().__init__(folder, *options)
        self._commands = commands

    def launch(self) -> None:
        """Start the server without waiting."""
        if self._commands is None:
            super().launch()
            return
        environment = os.environ | {"MAYAVI_API_KEY": self.key} | self.environment
        with open(self.log, "ab") as log:
            forked: Any = self._commands.start(self.arguments, environment, log.fileno(), log.fileno())
        self.process = forked  # as `subprocess.Popen` as a service needs it
