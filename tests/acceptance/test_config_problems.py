"""Mistakes that people make in configuration files: each is reported with its file, line and code."""

from __future__ import annotations

from pathlib import Path

import pytest

import halflap
from acceptance import golden

BROKEN = Path(__file__).parent / "broken"


def problems(file: Path) -> list[str]:
    with pytest.raises(halflap.ConfigError) as refused:
        halflap.load_config(file, environ={})
    return [f"{one.file.name if one.file else None}:{one.line} {one.code}" for one in refused.value.problems]


def test_problems_are_reported_as_agreed() -> None:
    files = sorted(file for file in BROKEN.iterdir() if file.suffix != ".env")
    golden.check("config_problems", {file.name: problems(file) for file in files})
