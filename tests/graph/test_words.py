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


@pytest.mark.parametrize(
    ("many", "one"),
    [
        *(
            (f"{one}s", one)
            for one in ("sku", "uri", "url", "ip", "vm", "pr", "mr", "db", "tv", "gpu", "cpu")
        ),
        *(
            (f"{one}s", one)
            for one in ("api", "kpi", "menu", "submenu", "wiki", "emoji", "doi", "taxi", "gui")
        ),
        *(
            (f"{one}s", one)
            for one in ("cache", "size", "prize", "case", "database", "house", "course", "clause")
        ),
        *(
            (f"{one}s", one)
            for one in ("file", "node", "issue", "image", "shoe", "archive", "key", "day", "photo")
        ),
        *(
            (f"{one}es", one)
            for one in ("bus", "gas", "bonus", "status", "alias", "canvas", "address", "class")
        ),
        *(
            (f"{one}es", one)
            for one in ("box", "tax", "branch", "match", "batch", "hash", "dish", "hero", "buzz")
        ),
        ("axes", "axis"),
        ("analyses", "analysis"),
        ("hypotheses", "hypothesis"),
        ("categories", "category"),
        ("ties", "tie"),
        ("movies", "movie"),
        ("SKUs", "sku"),
        ("documentURIs", "documentURI"),
        ("document_uris", "document_uri"),
        ("vm_ips", "vm_ip"),
    ],
)
def test_a_plural_is_read_as_what_it_is_of(many: str, one: str) -> None:
    assert words_of(many) == words_of(one)
    assert is_plural(many)
    assert not is_plural(one)


@pytest.mark.parametrize(
    "word",
    [
        "status",
        "bus",
        "gas",
        "its",
        "address",
        "analysis",
        "basis",
        "axis",
        "radius",
        "news",
        "series",
        "species",
        "alias",
        "canvas",
        "https",
        "dns",
        "css",
        "js",
        "os",
        "aws",
        "gps",
        "sms",
        "ios",
        "tls",
        "bias",
        "atlas",
        "lens",
        "redis",
        "postgres",
        "kubernetes",
        "nodejs",
        "access",
        "process",
        "class",
        "bonus",
        "virus",
        "campus",
        "previous",
        "this",
        "was",
        "has",
        "yes",
        "us",
        "is",
        "as",
        "plus",
        "cors",
        "saas",
        "bios",
        "macos",
        "chaos",
        "always",
        "perhaps",
        "tennis",
    ],
)
def test_a_word_of_one_thing_keeps_its_end(word: str) -> None:
    assert words_of(word) == (word,)
    assert not is_plural(word)
