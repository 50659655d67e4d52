"""`mayavi replay`: repeat what happened on a chain."""

from __future__ import annotations

from mayavi.cli.console.group import command_group
from mayavi.cli.replay_incident import incident, incidents

app = command_group("Repeat recorded incidents and compare with what happened.")
app.command("incident", short_help="Replay a named incident: recorded against simulated figures.")(incident)
app.command("incidents", short_help="List the named incidents.")(incidents)
