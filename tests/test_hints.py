"""Error messages and hints name only arguments, commands and options that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from typer.main import get_command

from mayavi.cli.app import app_of
from tests.source_texts import GAP, Text, signatures, texts

CALL = re.compile(r"([A-Za-z_][\w.]*)\(([^()]*)\)")
KEYWORD = re.compile(r"(?<![\w.\"'])([a-z_]\w*)=(?!=)")
BARE = re.compile(r"(?<![\w.\"'={¤$-])([a-z_]\w*)=(?![=>])")
OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*)")
COMMAND = re.compile(r"(?:`|: )mayavi ((?:[a-z][\w-]*|--[\w-]+)(?: [^`;,\n]*)?)")
SETTING = re.compile(r"--(?:set|grid|data) `?[^\s`]*|\['[^']*'\]")
"""Settings of a scenario, an environment or a training, whose names the options check themselves."""
OTHER_PROGRAMS = re.compile(
    r"(?:pip install|ray start|tensorboard|npm)\b[^`\n]*|^--[\w-]+(?:=\S*)?$|<[^>]*>|:root.*", re.S
)
WRITES_CODE = {"mayavi/evm/abi/generated_codec.py"}
"""Files whose strings are Python code."""
FREE_FORM = {
    "eth_price", "btc_price", "fed_rate",  # columns of a file: eth_price=FILE:COLUMN
    "key", "value", "halt_on_exception",  # written into a document
    "learning_rate",  # the example of a setting
    "charset", "filename", "mode", "q", "realm", "rss",  # in HTTP headers, and words of SQLite and ps
}  # fmt: skip


@cache
def commands() -> dict[tuple[str, ...], set[str]]:
    """Options of every command, by its words."""

    def walk(command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], set[str]]]:
        options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        yield words, {name for name in options if name.startswith("--")} | {"--help"}
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))

    return dict(walk(get_command(app_of()), ()))


def unknown_arguments(text: Text) -> list[str]:
    """Arguments of calls in a text, `Name(argument=…)`, that the called has not."""
    found, rest = [], text.text
    while call := CALL.search(rest):  # the innermost first
        named = KEYWORD.findall(call[2])
        parameters = (signatures().parameters(call[1]) or set()) if named else set()
        found += [f"{call[1]}({name}=)" for name in named if name not in parameters]
        rest = rest[: call.start()] + "…" + rest[call.end() :]
    return found


def unknown_bare_arguments(text: Text) -> list[str]:
    """Arguments outside of calls, `hardfork=…`, that no function or settings class of the same package has."""
    rest = OTHER_PROGRAMS.sub(" ", SETTING.sub(" ", CALL.sub(" ", text.text)))
    known = signatures().of_package[text.package] | signatures().of_package["markets"]  # it reads files for others
    return [name for name in BARE.findall(rest) if name not in known | FREE_FORM]


def unknown_commands(text: Text) -> list[str]:
    """Commands in a text, `mayavi runs show`, that do not exist, and options that they have not."""
    found = []
    for command in COMMAND.finditer(text.text):
        words, known = command[1].split(), commands()
        path: tuple[str, ...] = ()
        while words and (*path, words[0]) in known:
            path = (*path, words.pop(0))
        if not path and not command[1].startswith("--"):
            found.append(f"mayavi {command[1]}")
            continue
        options = known[path] | (known[(*path, "write")] if path in {("artifact",), ("report",)} else set())
        found += [f"mayavi {' '.join(path)} {each}" for each in OPTION.findall(command[1]) if each not in options]
    return found


def unknown_options(text: Text) -> list[str]:
    """Options in a text that no command has, or not the command in whose file the text is."""
    rest = OTHER_PROGRAMS.sub(" ", COMMAND.sub(" ", text.text))
    own = text.path.removeprefix("mayavi/cli/").removesuffix(".py").partition("_")[0]
    fitting = [options for words, options in commands().items() if words[:1] == (own,)] or list(commands().values())
    return [each for each in OPTION.findall(rest) if not any(each in options for options in fitting)]


@pytest.mark.slow(2)
@pytest.mark.parametrize("unknown", [unknown_arguments, unknown_bare_arguments, unknown_commands, unknown_options])
def test_texts_name_only_what_exists(unknown) -> None:
    assert len(texts()) > 5_000
    wrong = {str(text): found for text in texts() if text.path not in WRITES_CODE and (found := unknown(text))}
    assert wrong == {}


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    ("unknown", "text", "found"),
    [
        (unknown_arguments, "open it with `Fork.replica(hard_fork=…)`", ["Fork.replica(hard_fork=)"]),
        (unknown_arguments, 'open it with `Fork.replica("base", hardfork=…)`', []),
        (unknown_arguments, "give mine(…, second=…)", ["mine(second=)"]),
        (unknown_arguments, 'CurveStableSwap(fork, "0x…", lp_token="0x…")', []),
        (unknown_arguments, "`fork.deal(token, whom=…)`", ["fork.deal(whom=)"]),
        (unknown_bare_arguments, "open the fork with hard_fork=…", ["hard_fork"]),
        (unknown_bare_arguments, "give it more with gas=…", []),
        (unknown_commands, "`mayavi runs shew latest` shows it", []),  # `mayavi runs` exists, its argument may be any
        (unknown_commands, "`mayavi rums show latest`", ["mayavi rums show latest"]),
        (unknown_commands, f"`mayavi runs explain {GAP} --agents x`", ["mayavi runs explain --agents"]),
        (unknown_commands, f"`mayavi artifact {GAP} --output FILE`", []),
        (unknown_options, "add --snapshots FILE", ["--snapshots"]),
        (unknown_options, "`pip install --upgrade mayavi-sim`, or --snapshot FILE", []),
    ],
)
def test_the_check_itself_finds_what_does_not_exist(unknown, text: str, found: list[str]) -> None:
    assert unknown(Text("mayavi/evm/x.py", 1, "evm", text)) == found
