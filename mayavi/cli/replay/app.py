"""`mayavi replay`: replay blocks, transactions, launches and incidents of a real chain; capture blocks as cases."""

from __future__ import annotations

from mayavi.cli.console.group import command_group
from mayavi.cli.replay.capture import capture
from mayavi.cli.replay.history import history
from mayavi.cli.replay.incident import incident, incidents
from mayavi.cli.replay.launch import launch
from mayavi.cli.replay.tx import tx

app = command_group("Replay blocks, transactions, launches and incidents of a real chain.")
app.command("history", short_help="Replay a range of blocks and compare every receipt and the state.")(history)
app.command("tx", short_help="Replay one transaction: decoded trace, changes, what-if.")(tx)
app.command("capture", short_help="Write blocks as cases that replay without network.")(capture)
app.command("launch", short_help="Record a token launch for `launch_replay`.")(launch)
app.command("incident", short_help="Replay a named incident: recorded against simulated figures.")(incident)
app.command("incidents", short_help="List the named incidents.")(incidents)
