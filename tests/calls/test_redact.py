"""What is redacted in a value or a text, what is kept, and that it takes time linear in the text."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls.planted import ordinary, secrets
from halflap.calls import MARK, Redactor
from halflap.calls.redact.table import PREFIXES, WORDLIKE_PREFIXES, words
from support import examples, little_work

SECRET = 'k7Qw-9zXv 2mLp"<&\\\n/+ü'
PLAIN = Redactor()
KNOWING = Redactor([SECRET])

TOKENS = [
    prefix + "f3Kd93jfKs02mfLq8sV7bN1x"
    for prefixes in (*PREFIXES.values(), *WORDLIKE_PREFIXES.values())
    for prefix in prefixes.split()
]
PEM = [
    "-----BEGIN PRIVATE KEY-----\\nMIIEabc+/=\\n-----END PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF+/=\n-----END PGP PRIVATE KEY BLOCK-----",
]
FORMS = [*TOKENS, *PEM]


def test_every_prefix_in_the_table_makes_a_token_wherever_it_begins() -> None:
    for secret in FORMS:
        assert PLAIN.text(f"see ({secret}") == f"see ({MARK}"
        assert PLAIN.text(f"a\\n{secret}") == f"a\\n{MARK}"
        assert PLAIN.text(f"https://host/?q=%20{secret}&x=1") == f"https://host/?q=%20{MARK}&x=1"
        assert PLAIN.value({secret: 1}) == {MARK: 1}


def test_documented_secrets_are_caught_and_ordinary_texts_left_alone() -> None:
    missed = [text for text, secret in secrets() if secret in PLAIN.text(text)]
    altered = [text for text in ordinary() if PLAIN.text(text) != text]
    assert missed == []
    assert altered == []


ORDINARY = [
    "01ARZ3NDEKTSV4RRFFQ69G5FAV 507f1f77bcf86cd799439011 dQw4w9WgXcQ my-deployment-7d4b9c6f5d-x2x9z",
    "sk-learn-compatible-estimators-version-2 sk-ecdsa-sha2-nistp256 pa-1-system-with-speakers-and-more-of-2024-q1",
    "re_match_object_1234 fw_version_1_2_3_build_20240101 hf_model_name_v2_0_1 jina_embeddings_v2_base_code_of_2024",
    "test_a_store_that_fails_loses_nothing_2 npm_config_registry secret_santa_2024_participants",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "https://example.org/a/b?id=123e4567-e89b-12d3-a456-426614174000&sign=1#L10-L20 2026-01-01T12:30:45.123456Z",
    "next_page_token=abc123&page=2, continuationToken=abc, eos_token: </s>",
    "max_tokens: 500, tokens: 150000, token_count=7, tokens: ['hello', 'world']",
    '"token_type": "bearer", "expires_in": 3600',
    "primary_key=id public_key: ssh-ed25519 foreign_key=user_id",
    "password: str, token: ${TOKEN}, secret: null, api_key=$API_KEY",
    "Enter the password to go on. The secret of success is work.",
    "session: 17, pass: 3, fail: 1, PWD=/home/ann",
    "docker run -u 1000:1000 --user 1000:1000 x; mysql -u root -p shop",
    "https://ann@example.org/x ssh://git@host and mail me@example.org: thanks",
    '{"type": "token", "value": "hello"}, {"name": "page", "value": "x"}, ("user", "bob") x',
    "the password 'as you know', login with password authentication",
    '`Authorization: Bearer ${TOKEN}` and api_key: ${PROJ_TOKEN:-none}, "token": "${PROJ_TOKEN:-}"',
    'print("token:", token) <label for="password">Password</label>',
    '{"properties": {"password": {"type": "string"}, "secrets": {"type": "array"}}}',
]


def test_what_only_sounds_or_looks_secret_is_kept() -> None:
    for text in ORDINARY:
        assert KNOWING.text(text) == text
        assert PLAIN.value({"id": text, text: 1}) == {"id": text, text: 1}


def test_a_file_in_base64_is_kept_whatever_occurs_in_it() -> None:
    data = base64.b64encode(bytes(range(240)) * 40).decode() + f"/AKIA{'Q' * 16}/" + "A" * 2_000
    assert PLAIN.text(data) == data
    assert PLAIN.text(f"data:image/png;base64,{data}") == f"data:image/png;base64,{data}"


IN_TEXT = {
    "password=hunter2 user=bob": f"password={MARK} user=bob",
    "password=${a}hunter2": f"password={MARK}",
    "PASSWORD = 'hunter 2', x": f"PASSWORD = '{MARK}', x",
    'db.password: "hun\\"ter2" # x': f'db.password: "{MARK}" # x',
    "config[\"api_key\"] = 'hunter2'": f"config[\"api_key\"] = '{MARK}'",
    r"{\"apiKey\": \"hunter2\", \"a\": \"b\"}": rf"{{\"apiKey\": \"{MARK}\", \"a\": \"b\"}}",
    'args: ["--token", "hunter2", "-v"]': f'args: ["--token", "{MARK}", "-v"]',
    "Authorization: Bearer hunter2, and\nmore": f"Authorization: {MARK}\nmore",
    "<password>hunter2</password>": f"<password>{MARK}</password>",
    "https://ann:p@ss@host/path": f"https://ann:{MARK}@host/path",
    'secret="""hun\nter2"""': f'secret="""{MARK}"""',
    'password="hunter2\nx': f'password="{MARK}\nx',
    'x <add key="password" value="hunter2"/>': f'x <add key="password" value="{MARK}"/>',
    "mysqldump -p'hunter2' shop > x": f"mysqldump -p'{MARK}' shop > x",
    "sshpass -p hunter2 ssh host": f"sshpass -p {MARK} ssh host",
    "CREATE USER a IDENTIFIED BY 'hunter2';": f"CREATE USER a IDENTIFIED BY '{MARK}';",
    "- auth.password[0]: expected integer, received hunter2": f"- auth.password[0]: expected integer, received {MARK}",
}


def test_the_value_after_a_secret_name_is_redacted_in_a_text() -> None:
    assert {text: PLAIN.text(text) for text in IN_TEXT} == IN_TEXT


SECRET_NAMES = sorted(
    words(
        """
    password PASSWD dbPassword PGPASSWORD user-pass passPhrase wallet_pass_phrase clientSecret SecretString accessToken
    X-Auth-Token refreshtoken apiKey pw Proxy-Authorization Set-Cookie session_id PHPSESSID privateKey ssh_key
    SecretAccessKey credentials password_hash password2 signing.key seed_phrase
"""
    )
)


def test_a_text_under_a_secret_name_is_redacted() -> None:
    for name in SECRET_NAMES:
        assert PLAIN.value({"a": [{name: "hunter2"}]}) == {"a": [{name: MARK}]}


def test_harmless_names_keep_their_values() -> None:
    value = {
        "nextPageToken": "abc", "max_tokens": 100_000, "tokens": ["a", "b"], "primary_key": "id", "secretary": "Bob",
        "session": {"id": 17}, "password": None, "secret": True, "token": 17, "PWD": "/home/ann", "pass": "******",
    }  # fmt: skip
    assert PLAIN.value(value) == value


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (
            {"credentials": {"user": "ann", "keys": ["x", 123456, 1.5e9, True, None, ""], "n": 3}},
            {"credentials": {"user": MARK, "keys": [MARK, 0, 0.0, True, None, ""], "n": 3}},
        ),
        # Keys that become the same stay two.
        ({FORMS[0]: 1, FORMS[1]: 2, MARK: 3}, {MARK: 1, f"{MARK} 2": 2, f"{MARK} 3": 3}),
        ({"name": "Cookie", "value": "x", "a": "b"}, {"name": "Cookie", "value": MARK, "a": "b"}),
        ({"type": "password", "value": "x"}, {"type": "password", "value": MARK}),
        ({"element": "Password field", "text": "x"}, {"element": "Password field", "text": MARK}),
        ({"element": "Search field", "text": "x"}, {"element": "Search field", "text": "x"}),
        (["run", "--token", "x", "--verbose"], ["run", "--token", MARK, "--verbose"]),
        (["token", "expires_at"], ["token", "expires_at"]),
    ],
)
def test_names_and_values_are_recognised_wherever_they_are(value: Any, safe: Any) -> None:
    assert PLAIN.value(value) == safe


def test_json_within_a_text_is_read() -> None:
    inner = json.dumps({"cookies": {"sid": "hunter2"}, "n": 1})
    outer = json.dumps({"body": inner, "password": 123456})
    safe = json.loads(PLAIN.text(outer))
    assert json.loads(safe["body"]) == {"cookies": {"sid": MARK}, "n": 1}
    assert safe["password"] == 0
    assert PLAIN.value({"text": '{"p\\u0061ssword": "hunter2"}'}) == {"text": f'{{"password": "{MARK}"}}'}
    assert "hunter2" not in PLAIN.text('{"password": "hunter2", "password": ""}')


CODE = {
    'token = login(password="hunter2")["token"]  # the password: hunter2': f'token = login(password="{MARK}")["token"]  # the password: {MARK}',
    'await mcp__x(api_key=token, dsn="user=ann password=hunter2")': f'await mcp__x(api_key=token, dsn="user=ann password={MARK}")',
    'password: str | None = ("hunter2")': f'password: str | None = ("{MARK}")',
    'x = {"password":\n "hunter2"}': f'x = {{"password":\n "{MARK}"}}',
    r'x = "[{\"name\": \"password\", \"value\": \"hunter2\"}]"': rf'x = "[{{\"name\": \"password\", \"value\": \"{MARK}\"}}]"',
    'page.fill("#password", "hunter2")': f'page.fill("#password", "{MARK}")',
    'await type(element="Password field", text="hunter2")': f'await type(element="Password field", text="{MARK}")',
}  # fmt: skip


def test_secrets_in_a_program_are_redacted_and_its_variables_kept() -> None:
    assert {code: PLAIN.code(code) for code in CODE} == CODE
    code = (
        'password = os.environ["DB_PASSWORD"]\n'
        'token = config.get("token") or ask("Your token")\n'
        'print("the password ", a, "is wrong", "token:", token)\n'
    )
    assert PLAIN.code(code) == code


def test_replaced_secrets_are_redacted_until_no_call_can_return_them(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(["configured one"])
    for number in (1, 2, 3, 3):
        redactor.replace_secrets("ann", [f"ann's {number}."])
    text = "configured one, ann's 1. ann's 2. ann's 3."
    assert redactor.value({text: text}) == dict([[f"{MARK}, {MARK} {MARK} {MARK}"] * 2])
    monkeypatch.setattr("halflap.calls.redact.redactor._REPLACED_SECONDS", -1)
    for number in (3, 4, 5):
        redactor.replace_secrets("bob", [f"bob's {number}."])
    assert redactor.text(f"{text} bob's 3. bob's 5.").endswith(f"bob's 3. {MARK}")


# Size limits


def test_a_text_that_is_cut_does_not_end_with_part_of_a_secret() -> None:
    for secret in (SECRET * 1_000, FORMS[0], "password=" + "27" * 3_000, PEM[0]):
        for length in range(90, 140, 7):
            for after in (" x" * 20_000, " x" * 50):
                kept, was_cut = KNOWING.value_within("x" * 100 + " " + secret + after, length)
                assert was_cut
                assert kept.startswith("x" * 90)
                assert not set(kept.removesuffix(" [cut]")) & set("GkQM27+")


def test_a_value_that_is_too_large_is_cut_and_stays_json() -> None:
    value = {"rows": [{"id": number, "name": "x" * 50} for number in range(10_000)]}
    for given_value, read in ((value, lambda kept: kept), (json.dumps(value), json.loads)):
        kept, was_cut = PLAIN.value_within(given_value, 10_000)
        assert was_cut
        assert 5_000 < len(json.dumps(kept)) < 15_000
        assert read(kept)["rows"][:10] == value["rows"][:10]
    assert PLAIN.value_within({"rows": [1, "two", None]}, 10_000) == ({"rows": [1, "two", None]}, False)


def test_a_key_that_is_too_large_and_a_value_that_is_too_deep_are_cut() -> None:
    kept, was_cut = PLAIN.value_within({"x" * 5_000_000: 1, "b": 2}, 100_000)
    assert was_cut
    assert [len(key) < 110_000 for key in kept] == [True]
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert PLAIN.value_within(value, 1_000_000)[1]


# Laws

PIECES = st.sampled_from(
    [*FORMS, *IN_TEXT, *CODE, *ORDINARY, MARK, MARK[:5], MARK[5:], SECRET, "token", "password=", '"', "sk-"]
)
NASTY = st.text(alphabet="ab1 :=\"'\\{}[],&-_.@/<>\n", max_size=30)
TEXTS = st.lists(st.one_of(NASTY, PIECES, st.text(max_size=10)), max_size=6).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(TEXTS, st.sampled_from(SECRET_NAMES)), inner, max_size=4),
    ),
    max_leaves=12,
)


def same_structure(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return len(before) == len(after) and all(
            (key == kept or MARK in kept) and same_structure(member, after[kept])
            for (key, member), kept in zip(before.items(), after, strict=True)
        )
    if isinstance(before, list):
        return all(same_structure(one, other) for one, other in zip(before, after, strict=True))
    return type(before) is type(after)


@given(VALUES)
@settings(max_examples=examples(30))
def test_keys_types_and_lengths_stay_and_what_fits_is_not_cut(value: Any) -> None:
    safe = KNOWING.value(value)
    assert same_structure(value, safe)
    assert KNOWING.value_within(value, 1_000_000) == (safe, False)


PLANTED = st.text(alphabet='abcdefghijkXYZ0123456789-_+/.~!%$é"\\ ', min_size=8, max_size=40).filter(
    lambda text: len(text.strip()) >= 8
)


@given(PLANTED, TEXTS, TEXTS)
def test_a_configured_secret_survives_in_no_form(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    text = before + secret + after
    data = text.encode(errors="surrogatepass")
    for written in (text, json.dumps(text), json.dumps(json.dumps(text)), html.escape(text), repr(text)):
        assert secret not in redactor.text(written)
        assert secret not in redactor.code(written)
        assert secret not in json.dumps(redactor.value([written, {written: 1}]), ensure_ascii=False)
    encoded = base64.b64encode(secret.encode()).decode()[: len(secret.encode()) * 8 // 6]
    assert encoded not in redactor.text(base64.b64encode(secret.encode() + b"&" + data).decode())
    assert secret.encode().hex() not in redactor.text(data.hex())
    assert quote(secret, safe="") not in redactor.text(quote(data, safe=""))


@given(st.sampled_from(SECRET_NAMES), PLANTED, VALUES)
def test_a_value_under_a_secret_name_survives_nowhere(name: str, secret: str, other: Any) -> None:
    secret = f"<{secret}>"
    value = {"other": other, "deep": [{name: secret, "text": json.dumps({name: secret})}]}
    assert secret not in json.dumps(PLAIN.value(value), ensure_ascii=False).replace('\\"', '"')
    assert secret not in PLAIN.text(f'Here: "{name}": {json.dumps(secret, ensure_ascii=False)}, and so on')


@given(st.integers(min_value=65_000, max_value=66_700))
def test_a_secret_on_the_border_of_two_parts_is_found(offset: int) -> None:
    text = "x " * (offset // 2) + " my_password = hunter2 and " + FORMS[0] + " end"
    assert PLAIN.text(text) == "x " * (offset // 2) + f" my_password = {MARK} and {MARK} end"


HOSTILE = [
    "eyJ", "token:[", "AKIAABCDEFGHIJKLMNOP", 'token="', "token='", 'token=\\"', "token='''", "://a:b", "a", "=", "a:",
    "<token>", "-----BEGIN PRIVATE KEY-----", "bearer ", "--token ", "sk-", "sk-a1", '{"a":', "password: expected ", "[",
    " ", "token        ", "\\", '"', "://", "-----BEGIN ", "token=\\\\\\", "password: str = ", "password = (", '("token", ',
    '"--token", ', "name='password' x ", 'value="x" ', "PASSWORD '", "set password ", "identified with x ", "curl -u ",
    "mysql -p ", "?sig=", "1234567:", "A/", "JQQJ99", "1Q~", "%41", "dp.pt.", "A3-ABCDEF-", "é: ", "machine a ",
    "machine a login a ", "access-", "SG.a", "sl.", "ghp_", "1/",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    with little_work(20):
        KNOWING.text(text)
        KNOWING.code(text[:100_000])
        KNOWING.value({text[:100_000]: [text]})
