"""Which keys and tag values are names, and which are data that must not be kept."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest

from halflap.learn import infer, schema_of, to_json
from halflap.learn.names import is_name, is_tag_value
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator


def listed(words: str) -> list[str]:
    return words.split()


PLAIN = listed(
    """
id first_name firstName user_id userId userID order_id session_id token_count nextPageToken user_name usr_name _id _links
__typename $ref $schema content-type Content-Type X-Request-ID x_forwarded_for dc:title og:image xsi:type user.name address.city
URL HTTPStatus requiresHTTPS XMLHttpRequest iOSVersion macOS isOK ETag eTag gRPCPort vCPU numCPUs maxQPS tfIdf kNN deltaV updatedAtUTC
USD SFO JSON_RPC CUSTOMER_ID größe prénom 名前 january monday mon mar may status_code order_total account_level
"""
)
NUMBERED = listed(
    """
address_1 addressLine2 line2 line_2 phone2 image1 img2 option_1 level_3 field_9 param_2 arg0 x1 y2 lat1 c_1 x_0 t0 n_1 h1
ADDRESS1 PHONE2 customer_phone1 user_address1 order_line2 part1Name part2Name lib9CompatibleModule txtColour12 電話1
sha256 sha512 sha3_256 hmac_sha256 md5 md5sum md5Hash md5_checksum utf8 utf-8 base64 base64_data keepBase64
b64_json crc32 blake2b ipv4 ipv6 ipv4Address http2 html5 oauth2_token oauth2Token tls1_3 x509 x86_64 amd64 arm64 win32 int32
float64 uint256 i32 rgb24 alpha2 alpha_2 cca2 isbn13 ean13 e164 h264 mp3 mp4_url mp3Url
s3_bucket s3Bucket s3_uri ec2_instance k8s i18n l10n a11y e2e b2b n8n web3 log4j neo4j word2vec bm25_score f1_score r2_score
p95 p99 p50_latency top10 top_10 top_5_accuracy last_30_days last7d last_7d 52WeekHigh 52_week_high change_24h volume_24h
percent_change_1h price_change_percentage_24h_in_currency sma_200 sma50 rsi14 ema_20 days_90 d30 q1 Q4 temperature_2m
wind_speed_10m temperature_2m_max pm2_5 pm10 co2 no2 o3 t2m vitamin_b12 hba1c image_24 image_512 photo_200_orig
avatar_72 2fa_enabled 3d_model is3d 1st_place v1 api_v2 python3 error_404 sp500 seq2seq page_404 week_52 podIPs +1 -1 isUpToDate user_7
"""
)
SIGNED = listed("@type @id @context @graph @value @timestamp @xmlns @odata.type @odata.nextLink #text")
NAMES = [*PLAIN, *NUMBERED, *SIGNED, "Net Worth", "1. first", "5. weight", "Last updated at", ""]
"""What servers' authors write."""
IDS = listed(
    """
wallet_9912345 voucher_1234 cus_NffrFeUfNV2Hib cus_Nff0a9b2c3 usr_ab1234 user_4242 user4242
USER#alice order#12 order-1234 #1234 emp_0042 session_1a2b INV-0042 SKU123 JIRA-42
PROJ-1234 GH-99 CVE-2021-44228 E1234 T1059 tt0111161 customfield_10010 QW7T2B KXPG34 ZXT069
BA24 QF12 LH441 B0C1234567 U024BE7LH C061EG9SL 01ARZ3NDEKTSV4RRFFQ69G5FAV V1StGXR8_Z5jdHi6B-myT cjld2cjxh0000qzrmn831i7rn
507f1f77bcf86cd799439011 ch_3MmlLrLkdIwHu7ix0snN0B15 price_1MoBy5LkdIwHu7ixZhnattbh acct_1032D82eZvKYlo2C
track_6rqhFgbbKwnb9MLmUQDhG6 dQw4w9WgXcQ NffrFeUfNVHib a1b2c3d a1b2c3 k3x9qz xK9mQ2 9f8e7d6c deadbeef01 deadbeef
cafebabe 0xabc123 0x52908400098527886E0F7030069857D2E4169EE7 550e8400-e29b-41d4-a716-446655440000
550e8400e29b41d4a716446655440000
"""
)
SECRETS = listed(
    """
sk_live_4eC39 sk_live_abcdef sk_test_x pk_live_abc eyJhbGci eyJhbGciOiJIUzI1NiJ9 AKIAIOSFODNN7
ghp_Abcdefghijklmn1 xoxb-abcdefghijkl AIzaSyDaGmWKa
glpat-abcdefghijkl
"""
)
ADDRESSES = listed(
    """
ada@example.com ada+x@example.co.uk a@b @john_doe @johndoe @ada #general /etc/passwd C:\\Users\\ada https://example.com example.com
www.example.org api.stripe.com ada/notes hello.py report.pdf package.json .env urn:isbn:123 arn:aws:iam 192.168.0.1
127.0.0.1:8080 fe80::1 00:1a:2b:3c:4d:5e items[0] a=b {"a":1} <b>
"""
)
NUMBERS = listed(
    """
7 42 -37 1.5 1e5 2024 20240501 2024-05-01 2024_05 2024-W12 Q1-2024 05/2024 12:30 10.5.3 v1.2.3 90210 +49170 555-1234 ١٢٣
978-3-16-148410-0 DE89370400440532013000 4111111111111111
"""
)
DATA = [
    *(*IDS, *SECRETS, *ADDRESSES, *NUMBERS),
    *("+1 555 123 4567", "(555) 123", "5 May 2024", "SW1A 1AA", "how old is the man next door"),
    *("x" * 65, "a\x00b", "tab\t", "\ud800"),
]
"""What comes of their data."""


def test_names_are_kept() -> None:
    assert [key for key in NAMES if not is_name(key)] == []
    assert [key for key in NAMES if key not in schema_of(infer([{key: 1}]))["properties"]] == []


def test_keys_shaped_like_data_are_not_kept() -> None:
    assert [key for key in DATA if is_name(key)] == []
    for key in DATA:
        shape = infer([{key: "x", "name": 1}])
        assert json.dumps(key) not in json.dumps([to_json(shape), schema_of(shape)])
        assert "additionalProperties" in schema_of(shape), key


def test_names_of_real_parameters_are_kept() -> None:
    servers = json.loads(shared_data("live_tools.json").read_text())
    names = {name for server in servers.values() for tool in server["tools"] for name in properties(tool)}
    refused = sorted(name for name in names if not is_name(name))
    assert len(names) > 500
    assert len(refused) <= len(names) * 0.002, refused


def properties(schema: Any) -> Iterator[str]:
    """Yield the names of all properties at any depth."""
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
    assert len(kept) < len(made) * 2 * 0.03, kept


@pytest.mark.parametrize(
    "value",
    [
        *("Ada Lovelace", "ada@example.com", "user_12345", "2024-01-01", "", "x" * 41, "/home/ada", "a\nb"),
        *("usr_ab1234", "order-1234", "sk_live_abcdef", "dQw4w9WgXcQ", "example.com", "@john_doe"),
        *(5, None, ["x"]),
    ],
)
def test_nothing_else_is_kept_under_tag_keys(value: Any) -> None:
    assert not is_tag_value(value)
    written = json.dumps(to_json(infer([{"status": value}])))
    assert "tag" not in written
    assert not value or type(value) is not str or value not in written
