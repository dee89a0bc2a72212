from __future__ import annotations

import pytest

from halflap.lint import tells_of_failure


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such order",
        "error - 404",
        "Error",
        "Error fetching page",
        "An error occurred while reading",
        "❌ Error: bad",
        "[ERROR] (5)",
        "ValueError: bad",
        "HTTP error 500",
        "Failed to open the file",
        "Could not find it",
        "Unable to connect",
        "Traceback (most recent call last):\n  x",
        "Invalid request",
        "Permission denied",
        "Request timed out",
    ],
)
def test_a_text_that_begins_so_tells_of_a_failure(text: str) -> None:
    assert tells_of_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All is well.",
        "Error handling in Python: a guide",
        "Error: " + "x" * 3_000,
        "Errors: 0",
        "Failed tests: 0 of 5",
        "No errors were found.",
        "{}",
        "The build failed.",
        "Exceptional results",
        "Cancelled order 5",
        "Canberra",
        "Error budget is at 40 %",
        "Invalidated 5 keys",
    ],
)
def test_a_text_that_only_has_such_words_does_not(text: str) -> None:
    assert not tells_of_failure(text)
