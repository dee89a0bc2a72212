"""Five real servers, read by a person: what the linter has to find in them, and what it must not.

The servers are as different as they come: a small one in TypeScript with ids of several things; one about money and dates;
one whose parameters nobody described; one that describes them in docstrings and declares outputs that say nothing; one in
Chinese. Every definition was read, and each row says what follows from it. A finding that is in no row is wrong.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from halflap.lint import lint, read_definitions
from support import shared_data

if TYPE_CHECKING:
    from halflap.lint import ServerReport

ALL = "*"

# server: rule, where (tool, or tool:path; * for every tool), why that is right.
RIGHT: dict[str, list[tuple[str, str, str]]] = {
    "hackernews": [
        ("no-output-schema", ALL, "none of the nine has one"),
        ("read-only-not-annotated", ALL, "all nine only search or get, and none is annotated"),
        (
            "entity-named-two-ways",
            "getStory:input.id",
            "getComments and getCommentTree call the story `storyId`",
        ),
        ("entity-named-two-ways", "getStoryWithComments:input.id", "the same"),
        ("paging-without-cursor", "search:input", "`page` and `hitsPerPage`, and no cursor"),
    ],
    "airbnb": [
        ("no-output-schema", ALL, "neither has one"),
        ("read-only-not-annotated", ALL, "a search and a look at details"),
        ("number-without-unit", "airbnb_search:input.minPrice", "no currency is named anywhere"),
        ("number-without-unit", "airbnb_search:input.maxPrice", "the same; nor whether by night or in all"),
        (
            "date-format-in-prose",
            "airbnb_search:input.checkin",
            "“Check-in date (YYYY-MM-DD)”, without `format`",
        ),
        ("date-format-in-prose", "airbnb_search:input.checkout", "the same"),
        ("date-format-in-prose", "airbnb_listing_details:input.checkin", "the same"),
        ("date-format-in-prose", "airbnb_listing_details:input.checkout", "the same"),
    ],
    "git": [
        ("no-output-schema", ALL, "none of the thirteen has one"),
        *(
            ("read-only-not-annotated", f"git_{name}", "“Shows …”, “List Git branches”")
            for name in ("status", "diff", "diff_staged", "diff_unstaged", "log", "show", "branch")
        ),
        *(
            ("parameter-without-description", f"git_{name}:input.repo_path", "it has a type alone")
            for name in "status diff diff_staged diff_unstaged commit add reset log create_branch checkout show init".split()  # noqa: SIM905 -- a row
        ),
        *(
            ("parameter-without-description", f"git_{where}", "it has a type alone")
            for where in (
                "diff_unstaged:input.context_lines",
                "diff_staged:input.context_lines",
                "diff:input.context_lines",
                "diff:input.target",
                "commit:input.message",
                "add:input.files[]",
                "log:input.max_count",
                "create_branch:input.branch_name",
                "create_branch:input.base_branch",
                "checkout:input.branch_name",
                "show:input.revision",
            )
        ),
        (
            "destructive-not-annotated",
            "git_reset",
            "what was staged is no longer; whether that is harm, its author has to say",
        ),
        ("enum-in-prose", "git_branch:input.branch_type", "('local'), ('remote') or ('all'), and no enum"),
    ],
    "osm-mcp-server": [
        (
            "empty-output-schema",
            ALL,
            "each declares `{result: object}` or a list of objects, without a field",
        ),
        *(
            ("read-only-not-annotated", name, "it finds, gets, searches or lists places")
            for name in (
                "find_nearby_places",
                "get_route_directions",
                "search_category",
                "find_schools_nearby",
                "find_ev_charging_stations",
                "find_parking_facilities",
                "suggest_meeting_point",
            )
        ),
        (
            "enum-in-prose",
            "analyze_commute:input.modes[]",
            '(options: "car", "foot", "bike") in the docstring',
        ),
    ],
    "12306-mcp": [
        ("no-output-schema", ALL, "none of the eight has one"),
        ("read-only-not-annotated", ALL, "all eight get something"),
        ("date-format-in-prose", "get_tickets:input.date", "格式为 yyyy-MM-dd, without `format`"),
        ("date-format-in-prose", "get_interline_tickets:input.date", "the same"),
        ("date-format-in-prose", "get_train_route_stations:input.departDate", "the same, in brackets"),
    ],
}

# server: rule, where, why it would be wrong.
WRONG: dict[str, list[tuple[str, str, str]]] = {
    "hackernews": [
        ("entity-named-two-ways", "getUser:input.id", "the user is `id` wherever it is taken"),
        ("entity-named-two-ways", "getComment:input.id", "no other tool takes a comment"),
        ("paging-without-cursor", "getStories:input", "`limit` alone cuts a list, and pages nothing"),
        ("number-without-unit", "search:input.hitsPerPage", "a count"),
    ],
    "airbnb": [
        ("paging-without-cursor", "airbnb_search:input", "it has a cursor"),
        ("cursor-not-given", "airbnb_search", "what it returns is not known"),
        ("number-without-unit", "airbnb_search:input.adults", "a count"),
        ("id-not-produced", "airbnb_listing_details:input.id", "what the search returns is not known"),
    ],
    "git": [
        ("parameter-without-description", "git_branch:input.contains", "it is described"),
        ("destructive-not-annotated", "git_checkout", "to switch branches destroys nothing"),
        ("read-only-not-annotated", "git_commit", "it records changes"),
        ("read-only-not-annotated", "git_add", "it adds to the staging area"),
        ("number-without-unit", "git_log:input.max_count", "a count"),
    ],
    "osm-mcp-server": [
        ("parameter-without-description", "find_nearby_places:input.radius", "the docstring describes it"),
        (
            "number-without-unit",
            "find_nearby_places:input.radius",
            "“Search radius in meters”, in the docstring",
        ),
        (
            "number-without-unit",
            "find_ev_charging_stations:input.min_power",
            "“Minimum charging power in kW”, in the docstring",
        ),
        ("number-without-unit", "reverse_geocode:input.latitude", "a coordinate"),
        (
            "parameter-without-description",
            "suggest_meeting_point:input.venue_type",
            "described, after a line that begins with “Example:”",
        ),
        ("date-without-format", "analyze_commute:input.depart_at", '(format: "HH:MM")'),
        ("enum-in-prose", "find_parking_facilities:input.parking_type", "the list ends in “etc.”"),
        ("enum-in-prose", "get_route_directions:input.mode", "“options include”"),
    ],
    "12306-mcp": [
        ("number-without-unit", "get_tickets:input.limitedNum", "a count"),
        ("enum-in-prose", "get_stations_code_in_city:input.city", "examples (例如)"),
        ("enum-in-prose", "get_tickets:input.trainFilterFlags", "a pattern says it"),
        ("entity-named-two-ways", "get_tickets:input.fromStation", "another role of a station"),
    ],
}


@lru_cache(maxsize=1)
def reports() -> dict[str, ServerReport]:
    text = shared_data("live_tools.json").read_text()
    return {one.server: one for one in lint(read_definitions(text, "live", "live"), only=list(RIGHT)).servers}


def findings(server: str) -> set[tuple[str, str]]:
    return {
        (
            one.rule,
            one.tool.rpartition("__")[2] + (f":{one.path}" if one.path and one.path != "output" else ""),
        )
        for one in reports()[server].findings
    }


@pytest.mark.parametrize("server", sorted(RIGHT))
def test_what_a_person_found_is_found_and_nothing_else(server: str) -> None:
    tools = [name.rpartition("__")[2] for name in reports()[server].tools]
    right = {
        (rule, name) for rule, where, _ in RIGHT[server] for name in (tools if where == ALL else [where])
    }
    assert findings(server) == right


@pytest.mark.parametrize("server", sorted(WRONG))
def test_what_would_be_wrong_is_about_what_is_there_and_not_found(server: str) -> None:
    report = reports()[server]
    for rule, where, why in WRONG[server]:
        tool = where.partition(":")[0]
        assert any(name.endswith(f"__{tool}") for name in report.tools), where
        assert (rule, where) not in findings(server), why
