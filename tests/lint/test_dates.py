"""Dates: which texts are one, and how it is told in what form they are written."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint.sample import field, record, tool
from lint.making import found, paths, taking


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("date", ""),
        ("start_date", "The first day."),
        ("created_at", "When."),
        ("departureTime", ""),
        ("fromdate", ""),
        ("date_from", "From when."),
        ("start_date", "The first isolated day."),
        ("start_date", "The start date in human resources."),
        ("dateOfBirth", "Of the person."),
        ("published", "Publication date"),
        ("expires", "Expiry date"),
        ("created", "Date of creation"),
        ("updated", "When it was updated."),
        ("lastModified", "Date of the last change"),
        ("modified_on", "Of it."),
        ("last_login", "When"),
        ("valid_until", "Of it."),
        ("since", "Only events after this date"),
    ],
)
def test_a_date_needs_a_form(name: str, said: str) -> None:
    assert paths("date-without-format", taking(name, "string", said)) == [f"input.{name}"]


@pytest.mark.parametrize(
    ("name", "said", "more"),
    [
        ("date", "", {"format": "date"}),
        ("date", "", {"pattern": "^\\d+$"}),
        ("date", "", {"enum": ["today", "tomorrow"]}),
        ("time", "", {}),
        ("timezone", "", {}),
        ("update", "", {}),
        ("candidate", "", {}),
        ("date_format", "", {}),
        ("since", "", {}),
        ("look_at", "", {"type": "object"}),
        ("up_to_date", "Is it", {}),
        ("out_of_date", "", {}),
        ("based_on", "What it is made of.", {}),
        ("waitUntil", "What to wait for.", {}),
        ("created", "Who made it.", {}),
        ("last_name", "", {}),
        ("from", "The sender.", {}),
        ("to", "Is brought up to date.", {}),
        ("week_date", "ISO 8601 week, like 2024-W05", {}),
        ("start_date", "not YYYY-MM-DD but DD/MM/YYYY", {}),
        ("start_date", "YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS", {}),
        ("start_date", "YYYY-MM-DD or MM/DD/YYYY", {}),
        ("start_date", "ISO 8601, such as 2024-05-06 or 2024-05-06T10:00:00Z", {}),
        ("start_time", "In 24-hour format (HH:MM).", {}),
        ("after_date", "Natural language, such as '2 days ago'.", {}),
    ],
)
def test_what_is_no_date_or_has_a_form_is_left_alone(name: str, said: str, more: Any) -> None:
    fields: dict[str, Any] = {name: {**field("string", said), **more}}
    assert paths("date-without-format", tool("do_it", record(**fields))) == []
    assert paths("date-format-in-prose", tool("do_it", record(**fields))) == []


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("As YYYY-MM-DD.", "date"),
        ("ISO 8601 timestamp.", "date-time"),
        ("日期 格式为 yyyy-MM-dd", "date"),
        ("ISO 8601, such as 2024-05-06", "date"),
        ("ISO 8601, such as 2024-05-06T10:00:00Z", "date-time"),
        ("ISO 8601 (YYYY-MM-DD)", "date"),
        ("As YYYY-MM-DD, not DD/MM/YYYY.", "date"),
    ],
)
def test_a_form_that_is_told_in_words_can_be_a_keyword(said: str, form: str) -> None:
    (one,) = found("date-format-in-prose", taking("start_date", "string", said))
    assert one.patch == {"format": form}


def test_where_it_is_not_clear_whether_it_has_a_time_the_author_chooses() -> None:
    either = '`"format": "date"`, or `"date-time"` where it has a time,'
    (one,) = found("date-format-in-prose", taking("start_date", "string", "ISO 8601."))
    assert (one.patch, either in one.fix) == (None, True)
    (one,) = found("date-without-format", taking("created", "string", "Date of creation."))
    assert (one.patch, either in one.fix) == (None, True)
    (one,) = found("date-without-format", taking("last_login", "string", "When."))
    assert one.patch == {"format": "date-time"}
