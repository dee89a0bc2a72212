"""The scenarios of scenarios.toml, run with the real `halflap` command."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acceptance.masks import masked
from acceptance.recordings import TIMEOUTS, list_all
from cli.program import configure, halflap
from support import NODE_SERVERS

if TYPE_CHECKING:
    from acceptance.recordings import Recordings

Transcript = list[dict[str, Any]]

_WRITTEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SCENARIOS: dict[str, str] = _WRITTEN["scenarios"]
SLOW_LINES: str = _WRITTEN["slow"]["lines"]
NODE_PROGRAMS = ("mcp-server-filesystem", "mcp-server-memory")
LIMITS = {"cpu_seconds": 1, "timeout_seconds": 10, "max_memory_mb": 128, "max_kept_output_bytes": 100_000}
LONG = 200
"""Longer output (in characters) appears in a golden file only once per scenario."""


def run(recordings: Recordings, name: str, home: Path) -> Transcript:
    """Run the commands of a scenario in a home."""
    _write(_WRITTEN["files"], home)
    config = _real_servers(home) if name == "real_servers" else recordings.prepare(home)
    # The commands about clients find, and change, the user's own configuration.
    return _run_lines(SCENARIOS[name], home, "" if name == "clients" else config)


def run_slow(recordings: Recordings, home: Path) -> Transcript:
    """Run the slow commands."""
    _write(_WRITTEN["slow"]["files"], home)
    return _run_lines(SLOW_LINES, home, recordings.prepare(home, execution=LIMITS))


def masked_transcript(transcript: Transcript) -> Transcript:
    """Mask the output of the commands; long output that repeats an earlier one is replaced by a reference."""
    seen: dict[str, str] = {}
    steps = []
    for step in transcript:
        keep = frozenset({"text"} if step["halflap"].startswith("call ") else ())
        printed = masked(step.get("json"), keep=keep)
        earlier = seen.setdefault(json.dumps(printed), step["halflap"])
        if len(json.dumps(printed)) > LONG and earlier != step["halflap"]:
            printed = f"<as for `{earlier}`>"
        steps.append({**step, "json": printed} if "json" in step else step)
    return steps


def _write(files: dict[str, str], home: Path) -> None:
    for name, content in files.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(content)


def _real_servers(home: Path) -> str:
    """Configure two servers from npm, and list their tools."""
    files, memory = (str(NODE_SERVERS / name) for name in NODE_PROGRAMS)
    config = configure(
        home,
        {"name": "files", "command": files, "args": [str(home / "files")]},
        {"name": "memory", "command": memory, "env": {"MEMORY_FILE_PATH": str(home / "memory.jsonl")}},
        upstream=TIMEOUTS,
    )
    list_all(config, home)
    return config


def _run_lines(lines: str, home: Path, config: str) -> Transcript:
    """Run command lines; of each, return the exit code, and the data or the error code that it printed.

    In a line, `<home>` is replaced by the home, and `<run>` by the last run that a command reported.
    """
    transcript: Transcript = []
    last_run = ""
    for line in lines.splitlines():
        arguments = [
            part.replace("<home>", str(home)).replace("<run>", last_run) for part in shlex.split(line)
        ]
        done = halflap(*arguments, home=home, HOME=str(home), HALFLAP_CONFIG=config)
        step: dict[str, Any] = {"halflap": line, "exit": done.code}
        if done.out.startswith(("{", "[")):
            step["json"] = printed = json.loads(done.out.replace(str(home), "<home>"))
            last_run = printed.get("run", last_run) if isinstance(printed, dict) else last_run
        elif done.out:
            # Of Python stubs, the functions; of everything else for people, only that there is something.
            step["prints"] = re.findall(r"def (\w+)\(", done.out) or "<text>"
        elif done.code and (code := re.search(r"^Error \[([a-z-]+)\]", done.err, re.MULTILINE)):
            step["error"] = code[1]
        transcript.append(step)
    return transcript
