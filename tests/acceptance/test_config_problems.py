"""Mistakes that people make in configuration files: each is reported with its file, line and code."""

from __future__ import annotations

from pathlib import Path

import halflap
from acceptance import golden

BROKEN = Path(__file__).parent / "broken"


def problems(file: Path) -> list[str]:
    """Return what is raised, or else what makes single servers unusable."""
    try:
        config = halflap.load_config(file, environ={})
        found = [problem for server in config.servers for problem in server.problems]
    except halflap.ConfigError as error:
        found = list(error.problems)
    return [f"{one.file.name if one.file else None}:{one.line} {one.code}" for one in found]


def test_problems_are_reported_as_agreed() -> None:
    files = sorted(file for file in BROKEN.iterdir() if file.suffix != ".env")
    golden.check("config_problems", {file.name: problems(file) for file in files})
