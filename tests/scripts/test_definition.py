from __future__ import annotations

from typing import Any

import pytest

from halflap.core.errors import ScriptError
from halflap.schema import compile_schema
from halflap.scripts import Definition, read_definition
from support import little_work, some


def annotated(annotation: str, before: str = "") -> dict[str, Any]:
    """Return the schema of a parameter with this annotation, definitions and all."""
    takes = read_definition(f"{before}\ndef main(x: {annotation}): ...").input_schema
    schema = dict(takes["properties"]["x"])
    return {**schema, "$defs": takes["$defs"]} if "$defs" in takes else schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("None", {"type": "null"}),
        ("Any", {}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("List[int]", {"type": "array", "items": {"type": "integer"}}),
        ("dict[str, float]", {"type": "object", "additionalProperties": {"type": "number"}}),
        (
            "tuple[int, str]",
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
        ("Literal['a', -1, None, True]", {"enum": ["a", -1, None, True]}),
        ("int | str | None", {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        ("Optional[int]", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ("Union[int, str]", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("Annotated[int, 'how many']", {"type": "integer", "description": "how many"}),
        ("'list[int]'", {"type": "array", "items": {"type": "integer"}}),
        ("typing.Optional[int]", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ("t.Any", {}),
        ("L['a']", {"enum": ["a"]}),
        ("Region", {"enum": ["EU", "US"]}),
    ],
)
def test_an_annotation_becomes_the_schema_that_it_means(annotation: str, schema: dict[str, Any]) -> None:
    before = "import typing\nimport typing as t\nfrom typing import Literal as L\nRegion = L['EU', 'US']"
    assert annotated(annotation, before) == schema


@pytest.mark.parametrize(
    "annotation",
    [
        "set[str]",
        "dict[int, str]",
        "list[int, str]",
        "Literal[1.5]",
        "Literal[x]",
        "__import__('os').system('id')",
        "'not ( python'",
        "5",
        "Unknown",
    ],
)
def test_any_other_annotation_is_an_error_with_its_line_and_what_is_possible(annotation: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_definition(f"\n\ndef main(\n    x: {annotation}\n): ...")
    assert str(caught.value).startswith("line 4: the annotation `")
    assert "of the parameter 'x' cannot be used." in str(caught.value)


TYPED_DICTS = """
from typing import NotRequired, Required, TypedDict

class Base(TypedDict):
    id: str

class Order(Base, total=False):
    "An order."
    total: Required[float]
    note: str
    parts: 'list[Order]'
"""


def test_a_typed_dict_is_an_object_with_its_keys_also_if_it_contains_itself() -> None:
    assert annotated("list[Order]", TYPED_DICTS) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Order"},
        "$defs": {
            "Order": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "total": {"type": "number"},
                    "note": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/$defs/Order"}},
                },
                "required": ["id", "total"],
                "description": "An order.",
            }
        },
    }


@pytest.mark.parametrize(
    ("before", "annotation", "advice"),
    [
        ("class Order:\n    id: str", "Order", "make Order a TypedDict"),
        ("class A(B): ...\nclass B(A): ...", "A", "make A a TypedDict"),
        ("X = X", "X", "nested more than 20 levels"),
    ],
)
def test_an_unusable_name_is_refused_with_advice(before: str, annotation: str, advice: str) -> None:
    with pytest.raises(ScriptError, match=advice):
        annotated(annotation, before)


def test_too_many_parts_in_all_are_one_error() -> None:
    parameters = ", ".join(f"p{number}: int" for number in range(3_000))
    with pytest.raises(ScriptError, match="2,000 parts") as caught:
        read_definition(f"def main({parameters}): ...")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ("*names", "`names: list[str]`"),
        ("**more", "`more: dict[str, str]`"),
        ("a=1, /, b=2", "remove the `/`"),
        ("a=len('x')", "`len('x')` of 'a' is computed"),
        ("a={1: 2}", "is computed"),
        ("a=1e999", "is computed"),
    ],
)
def test_what_cannot_be_a_parameter_is_an_error_with_advice(parameters: str, advice: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_definition(f"def main({parameters}): ...")
    assert str(caught.value).startswith("line 1: ")
    assert advice in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ScriptError) as caught:
        read_definition("def main(\n    a: bytes,\n    b=print(),\n    *c,\n) -> set[int]: ...")
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "line 4",
        "line 2",
        "line 3",
        "line 5",
    ]


def test_defaults_make_parameters_optional_and_are_shown() -> None:
    read = read_definition("async def main(a, b=(1, [2]), *, c: str, d: int = -1, e: 'str' = None): ...")
    assert read.input_schema == {
        "type": "object",
        "properties": {
            "a": {},
            "b": {"default": [1, [2]]},
            "c": {"type": "string"},
            "d": {"type": "integer", "default": -1},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }


def test_every_schema_is_one_that_can_be_checked_against() -> None:
    read = read_definition(
        f"{TYPED_DICTS}\ndef main(a: Order, b: tuple[int, str] | None = None) -> Order: ..."
    )
    for schema in (read.input_schema, read.output_schema):
        assert schema is not None
        assert compile_schema(schema) is not None
    validator = compile_schema(read.input_schema)
    assert validator is not None
    assert not validator.problems({"a": {"id": "1", "total": 1, "parts": []}, "b": [1, "x"]})
    assert validator.problems({"a": {"id": "1", "total": 1, "parts": [{}]}})


@pytest.mark.parametrize(
    ("returns", "schema"),
    [
        ("", None),
        (" -> None", None),
        (
            " -> int",
            {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        ),
        (" -> Any", {"type": "object", "properties": {"result": {}}, "required": ["result"]}),
    ],
)
def test_what_main_says_that_it_returns_is_declared_in_a_wrapper(returns: str, schema: object) -> None:
    assert read_definition(f"def main(){returns}: ...").output_schema == schema


def test_the_description_is_that_of_main_else_that_of_the_file() -> None:
    assert (
        read_definition('"""File."""\ndef main():\n    """Main.\n\n    More."""').description
        == "Main.\n\nMore."
    )
    assert read_definition('"""File."""\ndef main(): ...').description == "File."
    assert not read_definition("def main(): ...").description


def test_a_file_without_main_takes_nothing_and_runs_as_it_is() -> None:
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    assert read_definition("print(await x())") == Definition("", nothing, has_main=False)


@pytest.mark.parametrize(
    "line",
    [
        "await main()",
        "asyncio.run(main())",
        "if x:\n    print(main())",
        "y = [main()]",
        "anyio.run(main)",
        "def start():\n    asyncio.run(main())\nstart()",
    ],
)
def test_a_file_that_calls_main_by_itself_runs_as_it_is(line: str) -> None:
    assert not read_definition(f"async def main(): ...\n{line}").has_main


@pytest.mark.parametrize(
    "line",
    ["if __name__ == '__main__':\n    main()", "def other():\n    main()", "f = lambda: main()", "x.main()"],
)
def test_what_does_not_call_main_when_the_file_is_loaded_does_not_count(line: str) -> None:
    assert read_definition(f"def main(): ...\n{line}").has_main


@pytest.mark.parametrize("main", ["*names", "a, /", "limit: int", "p: P = P()"])
@pytest.mark.parametrize("call", ["main()", "sys.exit(main())", "asyncio.run(main(1))", "start()"])
def test_a_file_run_by_itself_whose_guard_calls_main_runs_as_it_is(main: str, call: str) -> None:
    code = f"def main({main}): ...\ndef start():\n    main()\nif __name__ == '__main__':\n    {call}"
    read = read_definition(code, as_file=True)
    assert not read.has_main
    assert read.calls_main == (3 if call == "start()" else 5)


@pytest.mark.parametrize("line", ["if __name__ == '__main__':\n    print('by itself')", "x.main()", ""])
def test_a_file_run_by_itself_that_does_not_call_main_has_it_called(line: str) -> None:
    assert read_definition(f"def main(): ...\n{line}", as_file=True).has_main
    with pytest.raises(ScriptError, match=r"`\*names` cannot be a parameter"):
        read_definition(f"def main(*names): ...\n{line}", as_file=True)


def test_a_saved_script_needs_a_proper_main_whatever_stands_under_its_guard() -> None:
    with pytest.raises(ScriptError, match=r"`\*names` cannot be a parameter"):
        read_definition("def main(*names): ...\nif __name__ == '__main__':\n    main()")


def test_a_syntax_error_is_reported_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"line 2: it is not Python: '\(' was never closed"):
        read_definition("x = 1\ny = (")


@pytest.mark.parametrize(
    "code",
    [
        "-" * 100_000 + "1",
        "a" + ".b" * 100_000,
        "1" + "+1" * 100_000,
        "(" * 100_000,
        "def main(x: " + "list[" * 90 + "int" + "]" * 90 + "): ...",
        "def main(x: " + "'" * 3 + "list[" * 5_000 + "'" * 3 + "): ...",
        "def main(x=" + "[" * 150 + "]" * 150 + "): ...\n" + "x" + "[0]" * 60_000,
        "a\0b",
        "if a:\n p\n" + "elif a:\n p\n" * 20_000,
    ],
    ids=range(9),
)
def test_code_that_is_written_to_exhaust_the_reader_is_refused(code: str) -> None:
    with pytest.raises(ScriptError):
        read_definition(code)


LAUGHS = "\n".join(f"X{number} = tuple[{', '.join([f'X{number + 1}'] * 50)}]" for number in range(9))
CHAIN = "class C0: ...\n" + "\n".join(f"class C{n}(C{n - 1}, C{n - 1}): ..." for n in range(1, 5_000))
WRONG = ", ".join(f"a{number}: bytes" for number in range(15_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    some(
        [
            f"{LAUGHS}\nX9 = int\ndef main(x: X0): ...",
            f"{CHAIN}\ndef main(x: C4999): ...",
            f"def main({WRONG}): ...",
            "T = '" + "[" * 200_000 + "'\ndef main(" + ", ".join(f"a{n}: T" for n in range(1_000)) + "): ...",
        ],
        every=2,
    ),
    ids=["laughs", "chain", "wrong", "texts"],
)
def test_code_that_is_written_to_take_long_is_refused_soon(code: str) -> None:
    with little_work(20), pytest.raises(ScriptError) as caught:
        read_definition(code)
    assert len(str(caught.value).splitlines()) <= 20


def test_a_class_that_inherits_by_several_ways_has_each_key_once() -> None:
    classes = "class A(TypedDict):\n    a: int\nclass B(A):\n    b: int\nclass C(A):\n    a: str\nclass D(B, C):\n    d: int"
    schema = annotated("D", classes)["$defs"]["D"]
    assert schema["required"] == list(schema["properties"]) == ["a", "b", "d"]


def test_many_alternatives_are_no_deep_nesting() -> None:
    assert len(annotated(" | ".join(f"Literal[{number}]" for number in range(100)))["anyOf"]) == 100
