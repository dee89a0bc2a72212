"""Tells Halflap's own entry among servers: in front of itself it would start itself for ever."""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["is_halflap", "is_within_another"]

_ITSELF = re.compile(
    r"halflap(?:\.exe|\.git)?(?:\[[\w,-]*\])?(?:\s*(?:@|[=<>~!]=?).*)?\Z", re.IGNORECASE | re.DOTALL
)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?\Z|pyw?\Z")
_MODULE = re.compile(r"-[a-zA-Z]*m(.*)", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_SHELLS_OF_WINDOWS = frozenset({"cmd", "powershell", "pwsh"})
_LINE = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
_LINE_OF_WINDOWS = re.compile(r"/[ck]\Z|-c(?:ommand)?\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"[();|&]+\Z")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_BEFORE_A_COMMAND = frozenset({"exec", "command", "nohup", "time", "then", "do", "else", "{", "!"})
_OF_PYTHON = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_OF_ENV = frozenset({"-u", "--unset", "-C", "--chdir"})
_OF_PIPX = frozenset({"--spec", "--python", "--index-url", "-i", "--pip-args", "--with", "--backend"})
_OF_UV = frozenset(
    """
    --from --with -w --with-editable --with-requirements --python -p --index --default-index --index-url -i
    --extra-index-url --find-links -f --index-strategy --keyring-provider --resolution --prerelease
    --fork-strategy --exclude-newer --exclude-newer-package --link-mode --config-setting -C
    --config-settings-package --no-build-isolation-package --no-binary-package --no-build-package
    --upgrade-package -P --reinstall-package --refresh-package --constraints -c --overrides
    --build-constraints -b --excludes --env-file --allow-insecure-host --trusted-host --color --directory --project
    --config-file --cache-dir --python-platform --torch-backend --extra --no-extra --group --no-group
    --only-group --package --no-sources-package --python-preference --preview-features
    """.split()  # noqa: SIM905 -- as a list it would be a page
)
"""The options that take the word behind them: what is run is the first word that belongs to none."""
_DEEPEST = 8


def is_halflap(command: str | None, args: Sequence[str]) -> bool:
    """Say whether the program that a command runs is Halflap's server: itself, or by python -m, uvx, a shell or so.

    That it is mentioned, as the name of a folder or of another's option, does not count.
    """
    if not command:
        return False
    if _runs([command, *args], 0):
        return True
    # Some clients take a whole line for the command.
    return bool(re.search(r"\s", command)) and _line_runs(" ".join([command, *map(shlex.quote, args)]), 0)


def is_within_another(command: str) -> bool:
    """Say whether a command runs another by its arguments, and sets things up for it: a shell, or `env`."""
    return bool(re.search(r"\s", command)) or _name(command) in _SHELLS | _SHELLS_OF_WINDOWS | {"env"}


def _name(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


def _is_named(word: str) -> bool:
    return _ITSELF.match(re.split(r"[/\\]", word)[-1]) is not None


def _runs(words: Sequence[str], depth: int) -> bool:
    if not words or depth > _DEEPEST:
        return False
    program, rest = _name(words[0]), list(words[1:])
    if program == "halflap":
        return "serve" in rest
    if _PYTHON.match(program):
        return _module_runs(rest)
    if program in _SHELLS | _SHELLS_OF_WINDOWS:
        return _shell_runs(rest, depth, of_windows=program in _SHELLS_OF_WINDOWS)
    if program == "env":
        rest = _behind_options(rest, _OF_ENV)
        while rest and _VARIABLE.match(rest[0]):
            rest = rest[1:]
        return _runs(rest, depth + 1)
    tool = _tool(program, rest, depth)
    return bool(tool) and _is_named(tool[0]) and "serve" in tool[1:]


def _tool(program: str, rest: list[str], depth: int) -> list[str]:
    """Give the tool that uv or pipx runs, and its arguments."""
    if program == "uvx":
        return _behind_options(rest, _OF_UV)
    if program == "pipx":
        rest = _behind_options(rest, ())
        return _behind_options(rest[1:], _OF_PIPX) if rest[:1] == ["run"] else []
    if program != "uv":
        return []
    rest = _behind_options(rest, _OF_UV)
    if rest[:2] == ["tool", "run"]:
        return _behind_options(rest[2:], _OF_UV)
    if rest[:1] != ["run"]:
        return []
    run = _behind_options(rest[1:], _OF_UV)
    # `uv run` runs any command, such as `python -m halflap`; with -m, a module.
    options = rest[1 : len(rest) - len(run)]
    return (
        run if {"-m", "--module"} & set(options) else ["halflap", *run[1:]] if _runs(run, depth + 1) else []
    )


def _behind_options(words: Sequence[str], with_value: Collection[str]) -> list[str]:
    """Leave out the options that words begin with, each with its value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return list(words[at + 1 :])
        at += 2 if words[at] in with_value else 1
    return list(words[at:])


def _module_runs(words: list[str]) -> bool:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        module = None if words[at].startswith("--") or words[at] in _OF_PYTHON else _MODULE.match(words[at])
        if module is not None:
            named = [module[1], *words[at + 1 :]] if module[1] else words[at + 1 :]
            return named[:1] == ["halflap"] and "serve" in named[1:]
        at += 2 if words[at] in _OF_PYTHON else 1
    return False


def _shell_runs(words: list[str], depth: int, *, of_windows: bool) -> bool:
    for at, word in enumerate(words):
        if of_windows and _LINE_OF_WINDOWS.match(word):
            return _line_runs(" ".join(words[at + 1 :]), depth + 1, escape="")
        if not of_windows and _LINE.match(word):
            line = next((one for one in words[at + 1 :] if not one.startswith(("-", "+"))), "")
            return _line_runs(line, depth + 1)
        if not of_windows and not word.startswith(("-", "+")) and words[at - 1 : at] not in (["-o"], ["+o"]):
            # A script: what follows is for that.
            return False
    return False


def _line_runs(line: str, depth: int, escape: str = "\\") -> bool:
    """Say whether one of the commands in a line for a shell runs Halflap."""
    lexer = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", escape
    try:
        words = list(lexer)
    except ValueError:
        # A quote that is never closed: no shell runs that.
        return False
    for is_between, group in groupby(words, lambda word: _BETWEEN.match(word) is not None):
        simple = [] if is_between else list(group)
        while simple and (simple[0] in _BEFORE_A_COMMAND or _VARIABLE.match(simple[0])):
            simple = simple[1:]
        if _runs(simple, depth + 1):
            return True
    return False
