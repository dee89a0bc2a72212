"""Which keys and tag values are names, and which are data that must not be kept."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.learn import infer, render, to_json
from halflap.learn.names import TAG_KEYS, is_name, is_tag_value
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator


def listed(words: str) -> list[str]:
    return words.split()


NAMES = [
    *listed(
        """
id first_name firstName userID order_id token_count nextPageToken _id _links __typename $ref content-type X-Request-ID dc:title
user.name URL HTTPStatus iOSVersion eTag vCPU maxQPS updatedAtUTC USD JSON_RPC größe 名前 january mon status_code
address1 address_1 addressLine2 line_2 img2 option_1 arg0 x1 c_1 h1 ADDRESS1 user_address1 file1Path 電話1
sha256 hmac_sha256 md5Hash utf-8 base64_data crc32 ipv4 http2 oauth2_token tls1_3 x86_64 int32 float64 iso8601 isbn13 h264
mp4_url s3Bucket ec2_instance k8s i18n n8n word2vec f1_score p95 top_10 last_30_days 52_week_high change_24h sma_200 days_90
q1 temperature_2m pm2_5 co2 vitamin_b12 image_512 2fa_enabled 3d_model api_v2 v1beta1 error_404 row1col2
@type @id @context @timestamp @odata.nextLink #text
"""
    ),
    *("Market Cap", "1. open", "Last updated at", ""),
]
"""What servers' authors write."""
DATA = [
    *listed(
        """
credit_card_9912345 cus_NffrFeUfNV2Hib usr_ab12 user_42 user42 user_42_name user:alice USER#alice order-12 #1234 emp_0042
session_1a2b INV-0042 SKU123 JIRA-42 CVE-2021-44228 customfield_10010 week_52 row_17 QW7T2B BA24 U024BE7LH
01ARZ3NDEKTSV4RRFFQ69G5FAV V1StGXR8_Z5jdHi6B-myT 507f1f77bcf86cd799439011 price_1MoBy5LkdIwHu7ixZhnattbh dQw4w9WgXcQ a1b2c3
12ab xK9mQ2 deadbeef 0xabc123 550e8400-e29b-41d4-a716-446655440000
sk_live_4eC39 eyJhbGciOiJIUzI1NiJ9 AKIAIOSFODNN7 xoxb-abcdefghijkl glpat-abcdefghijkl
ada@example.com a@b @john_doe #general /etc/passwd C:\\Users\\ada https://example.com example.com octocat/hello report.pdf .env
urn:isbn:123 192.168.0.1 127.0.0.1:8080 fe80::1 00:1a:2b:3c:4d:5e items[0] a=b {"a":1} <b>
7 -3 1.5 1e5 2024 2024-05-01 2024-W12 Q1-2024 12:30 may_15 10.5.3 v1.2.3 +49170 555-1234 ١٢٣ DE89370400440532013000
"""
    ),
    *("+1 555 123 4567", "Jan 5", "5 May 2024", "SW1A 1AA", "how old is the man next door"),
    *("x" * 65, "a\x00b", "tab\t", "\ud800"),
]
"""What comes of their data."""


@given(st.one_of(st.text(max_size=70), st.from_regex(r"[A-Za-z0-9_²½Ⅳ٣.#@-]{0,20}", fullmatch=True)))
def test_every_text_is_a_name_or_not(key: str) -> None:
    assert type(is_name(key)) is bool
    assert not is_tag_value(key) or is_name(key)


def test_names_are_kept() -> None:
    assert [key for key in NAMES if not is_name(key)] == []
    assert [key for key in NAMES if key not in render(infer([{key: 1}]))["properties"]] == []


def test_keys_shaped_like_data_are_not_kept() -> None:
    assert [key for key in DATA if is_name(key)] == []
    for key in DATA:
        shape = infer([{key: "x", "name": 1}])
        assert json.dumps(key) not in json.dumps([to_json(shape), render(shape)])
        assert "additionalProperties" in render(shape), key


def test_names_of_real_parameters_are_kept() -> None:
    servers = json.loads(shared_data("live_tools.json").read_text())
    names = {name for server in servers.values() for tool in server["tools"] for name in properties(tool)}
    refused = sorted(name for name in names if not is_name(name))
    assert len(names) > 500
    assert len(refused) <= len(names) * 0.002, refused


def properties(schema: Any) -> Iterator[str]:
    """Give the names of all properties, however deep."""
    if isinstance(schema, dict):
        named = schema.get("properties")
        yield from named if isinstance(named, dict) else ()
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from properties(inner)


ALPHABETS = {
    "hexadecimal": (string.hexdigits.lower()[:16], 8),
    "base 36": (string.ascii_lowercase + string.digits, 16),
    "base 36 in capitals": (string.ascii_uppercase + string.digits, 12),
    "base 62": (string.ascii_letters + string.digits, 14),
}


@pytest.mark.parametrize("kind", ALPHABETS)
def test_random_identifiers_are_hardly_ever_names(kind: str) -> None:
    chance = random.Random(kind)
    letters, length = ALPHABETS[kind]
    made = ["".join(chance.choices(letters, k=length)) for _ in range(2_000)]
    kept = [name for name in (*made, *(f"cus_{one}" for one in made)) if is_name(name)]
    assert len(kept) < len(made) * 2 * 0.015, kept


@pytest.mark.parametrize("key", [1, None, 1.5, True, (1, 2), b"x"])
def test_keys_that_are_not_text_are_data(key: Any) -> None:
    assert "additionalProperties" in render(infer([{key: "x"}]))


def test_no_values_are_kept() -> None:
    secret = {
        "name": "Ada Lovelace",
        "mail": "ada@example.com",
        "age": 36.25,
        "n": 987654321,
        "tags": ["s3cret"],
    }
    written = json.dumps([to_json(infer([secret] * 9)), render(infer([secret] * 9))])
    for value in ("Ada", "ada@", "36.25", "987654321", "s3cret"):
        assert value not in written


@pytest.mark.parametrize(
    "value",
    [
        "paid",
        "not_found",
        "payment_intent.succeeded",
        "IN_PROGRESS",
        "PullRequestEvent",
        "v1",
        "oauth2",
        True,
    ],
)
def test_words_and_booleans_under_tag_keys_are_kept(value: Any) -> None:
    assert is_tag_value(value)
    assert all(
        value in (render(infer([{key: value}]))["properties"][key]["x-halflap"]["values"]) for key in TAG_KEYS
    )


@pytest.mark.parametrize(
    "value",
    [
        *("Ada Lovelace", "ada@example.com", "user_12345", "2024-01-01", "", "x" * 41, "/home/ada", "a\nb"),
        *("usr_ab12", "order-12", "sk_live_abcdef", "dQw4w9WgXcQ", "example.com", "user:alice", "@john_doe"),
        *(5, None, ["x"]),
    ],
)
def test_nothing_else_is_kept_under_tag_keys(value: Any) -> None:
    assert not is_tag_value(value)
    written = json.dumps(to_json(infer([{"status": value}])))
    assert "tag" not in written
    assert not value or type(value) is not str or value not in written


def test_too_many_values_under_a_tag_key_are_not_kept() -> None:
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]
    written = json.dumps(to_json(infer([{"status": word} for word in words])))
    assert not any(word in written for word in words)


def test_under_a_key_that_is_data_no_values_are_kept() -> None:
    written = json.dumps(to_json(infer([{"a@b.de": "short"}], keep_values=True)))
    assert "short" not in written


def test_long_strings_are_never_kept() -> None:
    written = json.dumps(to_json(infer([{"text": "x" * 65}, {"line": "a\nb"}], keep_values=True)))
    assert "xxx" not in written
    assert "a\\nb" not in written
