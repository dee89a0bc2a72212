"""Mistakes that people make in configuration files: each is reported with its file, line and code."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import halflap
from acceptance import golden
from halflap.core.codes import ConfigCode

BROKEN = Path(__file__).parent / "broken"
NOT_IN_A_FILE = {"config-trust"}
"""Codes about the machine, not about a file; tests/config covers them."""


def problems(file: Path) -> list[str]:
    """Return the problems that are raised or, if none are, those that make single servers unusable."""
    try:
        config = halflap.load_config(file, environ={})
        found = [problem for server in config.servers for problem in server.problems]
    except halflap.ConfigError as error:
        found = list(error.problems)
    return [f"{one.file.name if one.file else None}:{one.line} {one.code}" for one in found]


def test_problems_are_reported_as_agreed() -> None:
    files = sorted(file for file in BROKEN.iterdir() if file.suffix != ".env")
    golden.check("config_problems", {file.name: problems(file) for file in files})


def test_every_kind_of_problem_is_pinned() -> None:
    pinned = "".join(file.read_text(encoding="utf-8") for file in golden.FOLDER.rglob("*.json"))
    assert {code for code in get_args(ConfigCode) if code not in pinned} == NOT_IN_A_FILE
