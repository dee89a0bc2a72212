"""docs/errors.md: every code has its heading, and every problem of a configuration has its code."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from halflap.cli.commands.doctor import explanations
from halflap.core.codes import RunCode
from halflap.learn.drift import What
from halflap.sandbox.run.report import Execution
from halflap.sandbox.sandbox import Outcome
from support import CODES, ROOT

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
TEXTS = explanations()


def test_every_code_has_one_heading_and_every_heading_is_a_code() -> None:
    assert sorted(re.findall(r"^### (.+)$", PAGE, re.MULTILINE)) == sorted(CODES)
    assert len(set(CODES)) == len(CODES)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in CODES)


def test_every_outcome_of_a_run_has_a_code() -> None:
    ends = {*get_args(Outcome)} - {"ok"}
    assert {f"run-{one}" for one in ends} == set(get_args(RunCode))
    for one in ends:
        assert Execution("id", one, "", "").code == f"run-{one}"
    assert Execution("id", "ok", "", "").code is None


def test_every_kind_of_drift_is_named() -> None:
    for what in (*get_args(What), "breaks-declared-schema"):
        assert f"`{what}`" in PAGE


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_one_short_paragraph(code: str) -> None:
    assert "\n\n" not in TEXTS[code].strip().partition("\n## ")[0]
    assert 20 <= len(TEXTS[code]) <= 500
