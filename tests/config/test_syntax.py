"""Reading YAML and JSON with comments, with the line of every value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.config import Config
from halflap.config.syntax import Source, parse, parse_json
from halflap.core.errors import ConfigError
from support import little_work

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def source(text: str | bytes, name: str = "config.yaml") -> Source:
    return parse(text if isinstance(text, bytes) else text.encode(), Path(name))


def problem(text: str, name: str = "config.yaml") -> str:
    with pytest.raises(ConfigError) as caught:
        source(text, name)
    (only,) = caught.value.problems
    return str(only)


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_does(
    value: Any, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text) == json.loads(text)


@given(st.text(max_size=60) | st.text(st.sampled_from("{}[],:\"'\\/*# \n\tanu1-.e"), max_size=40))
def test_no_text_makes_a_parser_crash(text: str) -> None:
    for name in ("x.yaml", "x.json"):
        try:
            assert source(text.encode("utf-8", "replace"), name).value is not None
        except ConfigError as error:
            assert error.problems  # noqa: PT017


@pytest.mark.parametrize("word", ["off", "yes", "12:30:45", "2020-01-01", "010", ".inf"])
def test_words_of_yaml_1_1_stay_strings(word: str) -> None:
    assert source(f"key: {word}").value == {"key": word}


def test_json_may_have_comments_trailing_commas_tabs_and_a_byte_order_mark() -> None:
    text = '\ufeff{ // one\n\t"a": [1, 2,], /* two\n */ "b": {"c": null,},\n}\n'
    assert source(text, "config.json").value == {"a": [1, 2], "b": {"c": None}}


def test_yaml_that_names_python_objects_is_a_mistake() -> None:
    assert problem("a: !!python/object/apply:os.system ['true']").startswith("config.yaml:1: ")


@pytest.mark.parametrize("value", ["*hunter2", "!hunter2", "&hunter2 &x", "'x' hunter2", "[hunter2"])
def test_a_mistake_in_yaml_does_not_quote_the_file(value: str) -> None:
    assert "hunter2" not in problem(f"token: {value}\n")


def test_aliases_that_multiply_are_refused_quickly() -> None:
    lines = ["tools: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"store{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    lines += ["execution: *a9", "mcpServers: {a: &a {env: *a9, args: [*a]}}"]
    value = source("\n".join(lines)).value
    with little_work(), pytest.raises(ConfigError) as caught:
        Config.from_mapping(value)
    assert [one.code for one in caught.value.problems] == ["config-too-large"]


@pytest.mark.parametrize("text", ["a: " + "[" * 5_000, "? " * 5_000, '{"a":' * 50_000, "a: " + "9" * 5000])
def test_deep_nesting_and_long_numbers_are_refused(text: str) -> None:
    problem(text)
