"""Reading YAML and JSON with comments, with the line of every value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from halflap.config.problems import Problems
from halflap.config.source_lines import Source, parse, parse_json, source_of
from halflap.config.yaml_reader import Loader, read_yaml
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


class Yaml12Dumper(yaml.SafeDumper):
    """Dumps with the scalar rules that we read by, so that it quotes what we would not take for a text."""

    yaml_implicit_resolvers = Loader.yaml_implicit_resolvers


def read(text: str | bytes, name: str = "config.yaml") -> tuple[Any, list[str]]:
    problems = Problems(Path(name))
    try:
        source = parse(text if isinstance(text, bytes) else text.encode(), Path(name), problems)
    except ConfigError as error:
        return None, [str(problem) for problem in error.problems]
    return source.value, [str(problem) for problem in problems.found]


def source(text: str, name: str = "config.yaml") -> Source:
    return parse(text.encode(), Path(name), Problems())


def only_problem(text: str | bytes, name: str = "config.yaml") -> str:
    _, problems = read(text, name)
    assert len(problems) == 1
    return problems[0]


@given(VALUES, st.sampled_from([None, 0, 1, 2, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_does(
    value: Any, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text)[0] == json.loads(text)


@given(VALUES, st.booleans())
def test_yaml_gives_back_what_was_dumped(value: Any, flow: bool) -> None:
    assert read_yaml(yaml.dump(value, Dumper=Yaml12Dumper, default_flow_style=flow))[0] == value


@given(st.text(max_size=60) | st.text(st.sampled_from("{}[],:\"'\\/*# \n\tanu1-.e"), max_size=40))
def test_no_text_makes_a_reader_crash(text: str) -> None:
    for name in ("x.yaml", "x.json"):
        value, problems = read(text.encode("utf-8", "replace"), name)
        assert value is not None or problems


@pytest.mark.parametrize(
    "word", ["off", "on", "yes", "no", "y", "12:30:45", "2020-01-01", "0x1f", "010", ".inf", "1_000"]
)
def test_words_of_yaml_1_1_stay_strings(word: str) -> None:
    assert read(f"key: {word}") == ({"key": word}, [])


def test_json_may_have_comments_trailing_commas_tabs_and_a_byte_order_mark() -> None:
    text = '\ufeff{ // one\n\t"a": [1, 2,], /* two\n */ "b": {"c": null,},\n}\n'
    assert read(text, "config.json") == ({"a": [1, 2], "b": {"c": None}}, [])


@pytest.mark.parametrize("name", ["config.yaml", "config.json"])
@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
def test_an_empty_file_is_an_empty_mapping(text: str, name: str) -> None:
    assert read(text, name) == ({}, [])


def test_a_place_that_is_not_there_has_the_line_of_the_one_above() -> None:
    assert source("a:\n  b: 1\n").line(("a", "b", "[key]")) == 2
    assert source("a:\n  b: 1\n").line(("a", "c")) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 1 "b": 2}', 1),
        ("{\n  a: 1}", 2),
        ('{"a":\n True}', 2),
        ('{"a": "C:\\Users"}', 1),
        ('{\n"a": [1', 2),
        ('{"a": 1}\n}', 2),
    ],
)
def test_a_mistake_in_json_has_its_line(text: str, line: int) -> None:
    assert only_problem(text, "config.json").startswith(f"config.json:{line}: ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: x: y", 2),
        ("a:\n\tb: 1", 2),
        ("a: @b", 1),
        ("a: 1\n---\nb: 1", 2),
        ("a: 'x\nb: 1\n", 1),
        ("a: \x01", 1),
        ("? [a]\n: b", 1),
        ("a: !!python/object/apply:os.system ['true']", 1),
    ],
)
def test_a_mistake_in_yaml_has_its_line(text: str, line: int) -> None:
    assert only_problem(text).startswith(f"config.yaml:{line}: ")


@pytest.mark.parametrize(
    "value", ["*hunter2", "!hunter2", "!hunter2!x", "&hunter2 &x", "'x' hunter2", "[hunter2"]
)
def test_a_mistake_in_yaml_does_not_quote_the_file(value: str) -> None:
    assert "hunter2" not in only_problem(f"token: {value}\n")


@pytest.mark.parametrize(
    ("text", "name"), [("a: 1\nb: 2\na: 3\n", "x.yaml"), ('{"a": 1,\n\n"a": 3}', "x.json")]
)
def test_a_key_that_occurs_twice_is_reported_with_both_lines(text: str, name: str) -> None:
    problem = only_problem(text, name)
    assert problem.startswith(f"{name}:3: ")
    assert "line 1" in problem


def test_exponential_aliases_are_refused_quickly() -> None:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with little_work():
        only_problem("\n".join(lines))


@pytest.mark.parametrize(
    "text",
    ["a: &a [*a]", "a: " + "[" * 50_000, "- " * 50_000, "? " * 50_000, '{"a":' * 50_000, "[" * 500_000],
)
def test_deep_nesting_is_refused(text: str) -> None:
    only_problem(text)


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_a_number_of_thousands_of_digits_is_refused(name: str) -> None:
    text = '{"a": ' + "9" * 5000 + "}" if name == "x.json" else "a: " + "9" * 5000
    only_problem(text, name)


@pytest.mark.parametrize("value", [{"a": b"x"}, {1: 2}, {"b": object()}])
def test_a_python_value_that_no_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        source_of(value)
