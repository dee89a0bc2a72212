from __future__ import annotations

import pytest

from halflap.graph.subject import subject_of
from halflap.graph.vocabulary import telling
from halflap.graph.words import is_plural, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("customerId", "customer id"),
        ("customer_id", "customer id"),
        ("Customer-ID", "customer id"),
        ("customerIDs", "customer id"),
        ("customer_ids", "customer id"),
        ("customers", "customer"),
        ("categories", "category"),
        ("addresses", "address"),
        ("statuses", "status"),
        ("boxes", "box"),
        ("status", "status"),
        ("HTTPServerURL", "http server url"),
        ("line2Text", "line 2 text"),
        ("userid", "user id"),
        ("username", "user name"),
        ("repo", "repository"),
        ("lat", "latitude"),
        ("paid", "paid"),
        ("grid", "grid"),
        ("uuid", "uuid"),
        ("", ""),
        ("___", ""),
        ("город_id", "город id"),
    ],
)
def test_names_are_read_as_words(name: str, words: str) -> None:
    assert " ".join(words_of(name)) == words


def test_a_name_of_any_length_is_read() -> None:
    assert len(words_of("aB" * 100_000)) < 200


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("customers", True),
        ("children", True),
        ("ids", True),
        ("status", False),
        ("address", False),
        ("customer", False),
    ],
)
def test_the_plural_is_seen(name: str, many: bool) -> None:
    assert is_plural(name) is many


@pytest.mark.parametrize(
    "name", ["id", "name", "query", "limit", "path", "text", "status", "type", "title", "value"]
)
def test_names_that_say_nothing_tell_less_than_any_thing_does(name: str) -> None:
    assert telling(words_of(name)) < 0.3
    assert telling(words_of(f"customer_{name}")) > 0.9


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("get_user_details", "user"),
        ("customer_search", "customer"),
        ("mcp_desk_getAllTickets", "ticket"),
        ("get_card_by_id", "card"),
        ("users_list", "user"),
        ("issue_read", "issue"),
        ("list_events_for_user", "event"),
        ("search", ""),
        ("git_create_branch", "branch"),
    ],
)
def test_a_tools_name_says_what_it_is_about(name: str, thing: str) -> None:
    assert " ".join(subject_of(name, "git").thing) == thing


def test_what_a_tools_thing_is_of_is_seen() -> None:
    assert subject_of("get_comments_for_post", "x").owner == ("post",)
    assert subject_of("get_user_orders", "x").owner == ("user",)
