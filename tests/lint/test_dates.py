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
        ("checkIn", "Arrival date"),
        ("dob", "Date of birth"),
        ("departure", "Departure time"),
        ("meeting_time", "When they meet"),
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
        ("sort_by", "Sort by date", {}),
        ("status", "Up to date", {}),
        ("departure", "Where it starts", {}),
        ("waiting_time", "How it is told", {}),
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


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("When.", {}),
        ("Of it.", {"default": "today"}),
        ("Of it.", {"examples": ["next friday"]}),
        ("Of it.", {"maxLength": 7}),
    ],
)
def test_a_form_that_nothing_tells_is_not_to_be_put_into_the_schema(said: str, more: Any) -> None:
    (one,) = found("date-without-format", taking("due_date", "string", said, **more))
    assert one.patch is None
    assert '`"format": "date"`' in one.fix


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("Date (YYYY-MM-DD), or 'now'", {}),
        ("YYYY-MM-DD; may be empty", {}),
        ("Dates as YYYY-MM-DD, separated by commas", {}),
        ("Range YYYY-MM-DD..YYYY-MM-DD", {}),
        ("Prefix with >= or <=, e.g. >=2024-01-01 (YYYY-MM-DD)", {}),
        ("ISO 8601 timestamp without zone", {}),
        ("Optionally prefixed: YYYY-MM-DD", {}),
        ("As YYYY-MM-DD.", {"default": "now"}),
        ("As YYYY-MM-DD.", {"examples": ["2024-01-01", "next friday"]}),
        ("As YYYY-MM-DD.", {"maxLength": 7}),
        ("ISO 8601 timestamp.", {"default": "2024-01-01T00:00:00"}),
        ("As YYYY-MM-DD, default: yesternight.", {}),
    ],
)
def test_where_more_is_said_than_the_form_none_is_to_be_put_into_the_schema(said: str, more: Any) -> None:
    one = taking("start_date", "string", said, **more)
    assert [each.patch for each in found("date-format-in-prose", one)] in ([None], [])
    assert not found("date-without-format", one)


@pytest.mark.parametrize(
    "said",
    ["Start date in YYYY-MM-DD format", "The day (YYYY-MM-DD, e.g. 2024-05-06).", "The day: YYYY-MM-DD"],
)
def test_a_form_may_have_what_it_is_of_before_it_and_an_example_behind(said: str) -> None:
    (one,) = found("date-format-in-prose", taking("start_date", "string", said, default="2024-01-01"))
    assert one.patch == {"format": "date"}


def test_an_example_whose_day_cannot_be_a_month_tells_the_form() -> None:
    assert not found("date-without-format", taking("start_date", "string", "e.g. 31.12.2024"))
    assert found("date-without-format", taking("start_date", "string", "e.g. 02/03/2024"))


@pytest.mark.parametrize(
    ("name", "said"), [("located_at", "Address"), ("hosted_at", "URL of it"), ("based_at", "")]
)
def test_what_is_somewhere_is_no_date(name: str, said: str) -> None:
    assert not found("date-without-format", taking(name, "string", said))
