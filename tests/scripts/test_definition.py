"""What a script takes and returns, read from its text."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.core.errors import ScriptError
from halflap.scripts import Definition, read_definition
from support import little_work

INTEGER, STRING, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}
INTEGERS = {"type": "array", "items": INTEGER}


def annotated(annotation: str, before: str = "") -> dict[str, Any]:
    """Return the schema of a parameter with this annotation, with its definitions."""
    takes = read_definition(f"{before}\ndef main(x: {annotation}): ...").input_schema
    schema = dict(takes["properties"]["x"])
    return {**schema, "$defs": takes["$defs"]} if "$defs" in takes else schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", STRING),
        ("None", NULL),
        ("Any", {}),
        ("list[int]", INTEGERS),
        ("List[int]", INTEGERS),
        ("dict[str, float]", {"type": "object", "additionalProperties": {"type": "number"}}),
        ("Literal['a', -1, None, True]", {"enum": ["a", -1, None, True]}),
        ("int | str | None", {"anyOf": [INTEGER, STRING, NULL]}),
        ("Union[int, str]", {"anyOf": [INTEGER, STRING]}),
        ("typing.Optional[int]", {"anyOf": [INTEGER, NULL]}),
        ("Annotated[int, 'how many']", {**INTEGER, "description": "how many"}),
        ("'list[int]'", INTEGERS),
    ],
)
def test_an_annotation_becomes_a_schema(annotation: str, schema: dict[str, Any]) -> None:
    assert annotated(annotation) == schema


@pytest.mark.parametrize(
    "annotation",
    ["set[str]", "dict[int, str]", "list[int, str]", "Literal[1.5]", "__import__('os').system('id')", "'not ( python'", "5"],
)  # fmt: skip
def test_any_other_annotation_is_an_error_with_its_line(annotation: str) -> None:
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


def test_a_typed_dict_is_an_object_also_if_it_contains_itself() -> None:
    assert annotated("list[Order]", TYPED_DICTS) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Order"},
        "$defs": {
            "Order": {
                "type": "object",
                "properties": {
                    "id": STRING,
                    "total": {"type": "number"},
                    "note": STRING,
                    "parts": {"type": "array", "items": {"$ref": "#/$defs/Order"}},
                },
                "required": ["id", "total"],
                "description": "An order.",
            }
        },
    }


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ("*names", "`names: list[str]`"),
        ("**more", "`more: dict[str, str]`"),
        ("a=1, /, b=2", "remove the `/`"),
        ("a=len('x')", "`len('x')` of 'a' is computed"),
        ("a={1, 2}", "is computed"),
        ("a=1e999", "is computed"),
    ],
)
def test_what_cannot_be_a_parameter_is_an_error_with_advice(parameters: str, advice: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_definition(f"def main({parameters}): ...")
    assert str(caught.value).startswith("line 1: ")
    assert advice in str(caught.value)


def test_defaults_make_parameters_optional_and_are_shown() -> None:
    definition = read_definition(
        "async def main(a, b=(1, [2]), *, c: str, d: int = -1, e: 'str' = None): ..."
    )
    assert definition.input_schema == {
        "type": "object",
        "properties": {
            "a": {},
            "b": {"default": [1, [2]]},
            "c": STRING,
            "d": {"type": "integer", "default": -1},
            "e": {"anyOf": [STRING, NULL], "default": None},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("returns", "result"), [("", None), (" -> None", None), (" -> int", INTEGER), (" -> Any", {})]
)
def test_a_return_annotation_is_declared_in_a_wrapper(returns: str, result: Any) -> None:
    wrapped = {"type": "object", "properties": {"result": result}, "required": ["result"]}
    definition = read_definition(f"def main(){returns}: ...")
    assert definition.output_schema == (None if result is None else wrapped)


def test_the_description_is_that_of_main_else_that_of_the_file() -> None:
    both = '"""File."""\ndef main():\n    """Main.\n\n    More."""'
    assert read_definition(both).description == "Main.\n\nMore."
    assert read_definition('"""File."""\ndef main(): ...').description == "File."


NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_file_without_main_takes_nothing_and_runs_as_it_is() -> None:
    assert read_definition("print(await x())") == Definition("", NOTHING, has_main=False)


@pytest.mark.parametrize("line", ["await main()", "anyio.run(main)", "def start():\n    main()\nstart()"])
def test_a_file_that_calls_main_itself_runs_as_it_is(line: str) -> None:
    definition = read_definition(f"async def main(a): ...\n{line}")
    assert (definition.has_main, definition.input_schema) == (False, NOTHING)


def test_a_syntax_error_is_reported_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"line 2: not valid Python: '\(' was never closed"):
        read_definition("x = 1\ny = (")


CHAIN = "class C0: ...\n" + "\n".join(f"class C{n}(C{n - 1}, C{n - 1}): ..." for n in range(1, 3_000))
DOUBLING = "class D0(TypedDict): ...\n" + "\n".join(
    f"class D{n}(D{n - 1}, D{n - 1}): ..." for n in range(1, 60)
)


@pytest.mark.parametrize(
    "code",
    [
        "-" * 100_000 + "1",
        "def main(x: " + "list[" * 5_000 + "): ...",
        "def main(x: " + " | ".join(f"Literal[{n}]" for n in range(5_000)) + "): ...",
        "a\0b",
        "class A(B): ...\nclass B(A): ...\ndef main(x: A): ...",
        f"{CHAIN}\ndef main(x: C2999): ...",
        f"{DOUBLING}\ndef main(x: D59, y: bytes): ...",
        f"{DOUBLING.replace('TypedDict', '')}\ndef main(x: D59): ...",
        "def main(" + ", ".join(f"a{number}: bytes" for number in range(5_000)) + "): ...",
    ],
    ids=range(9),
)
def test_code_written_to_exhaust_the_reader_is_refused_soon(code: str) -> None:
    with little_work(20), pytest.raises(ScriptError) as caught:
        read_definition(code)
    assert len(str(caught.value).splitlines()) <= 20
