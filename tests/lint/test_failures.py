"""Errors that tools return as text."""

from __future__ import annotations

import pytest

from halflap.lint import tells_of_failure


@pytest.mark.parametrize("text", ["Error: no such order", "error - 404", "Error", "Error fetching page"])
def test_a_text_that_reports_a_failure_is_recognised(text: str) -> None:
    assert tells_of_failure(text)


@pytest.mark.parametrize("text", ["", "All is well.", "Error handling in Python: a guide"])
def test_a_text_that_mentions_errors_is_not(text: str) -> None:
    assert not tells_of_failure(text)
