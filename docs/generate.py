"""Write the pages of the docs that follow from the code: the reference, the errors, the tables of settings.

`make docs` runs it; `--check` only says which pages are not as they would be written.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import dataclasses
import inspect
import json
import re
import sys
import tempfile
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from typer._click import Command, Context, Parameter
from typer.core import TyperGroup
from typer.main import get_command

import halflap
from halflap.cli.app import app
from halflap.config import Config
from halflap.config.models import SECTIONS, ConfigFile, LmConfig, Profile, ServerEntry, TokenEntry, TopLevel
from halflap.core import errors
from halflap.core.errors import HalflapError
from halflap.core.text import join
from halflap.dspy.spec import ProgramSpec
from halflap.gateway import Gateway
from halflap.lint import RULES, rule_texts
from halflap.lint.report import SHARES, share_of
from halflap.server import Front
from halflap.workflows.model.form import net_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from halflap.lint import Rule
    from halflap.server.tools.tool import OwnTool

DOCS = Path(__file__).parent
_MADE = "<!-- Made by docs/generate.py: `make docs` regenerates it. -->\n\n"
_SETTINGS_HEAD = "| key | type | default | meaning |\n|---|---|---|---|\n"
_MOST_CHOICES = 10
_OF_EVERY_TOOL = ("invalid-arguments", "internal")
_NEEDS = {
    "definitions": "the definition",
    "outputs": "known result fields (declared or learned)",
    "results": "recorded results",
}
_ANYWHERE = frozenset({"--help", "--install-completion", "--show-completion"})


def pages() -> dict[Path, str]:
    """Return every generated page by its path."""
    told = files("halflap").joinpath("errors.md").read_text(encoding="utf-8")
    made = {
        "errors.md": told.replace("\n\n", f"\n\n{_MADE}", 1).replace(
            "`make docs` writes", "edit src/halflap/errors.md; `make docs` writes", 1
        ),
        "lint.md": with_rules((DOCS / "lint.md").read_text(encoding="utf-8")),
        "reference/commands.md": commands_page(),
        "reference/mcp-tools.md": tools_page(own_tools()),
        "reference/python.md": python_page(),
        "doctor.md": with_findings((DOCS / "doctor.md").read_text(encoding="utf-8")),
        "reference/dspy-program.schema.json": json.dumps(
            ProgramSpec.model_json_schema(by_alias=True), indent=2
        ),
        "reference/workflow.schema.json": json.dumps(net_schema(), indent=2),
        "reference/config.schema.json": config_schema(),
        "configuration.md": with_tables((DOCS / "configuration.md").read_text(encoding="utf-8")),
    }
    return {DOCS / name: text.rstrip("\n") + "\n" for name, text in made.items()}


# Settings ---------------------------------------------------------------------------------------------


def with_findings(page: str) -> str:
    """Put the table of what doctor finds in its place."""
    table = files("halflap").joinpath("findings.md").read_text(encoding="utf-8").partition("\n\n")[2]
    head = table.partition("\n")[0]
    return re.sub(re.escape(head) + r"\n(?:\|[^\n]*\n)*", lambda _: table, page)


def with_rules(page: str) -> str:
    """Put the table of the linter's rules, their weights and their details in their places."""
    page = re.sub(r"(?<=## Rules\n\n).*?(?=\n## )", lambda _: _rule_table(), page, flags=re.DOTALL)
    page = re.sub(r"The first finding of a rule takes: [^\n]*", lambda _: _rule_weights(), page)
    return page.partition("## Each rule\n")[0] + "## Each rule\n" + "".join(map(_rule_details, RULES))


def _rule_table() -> str:
    rows = (f"| [`{rule.id}`](#{rule.id}) | {rule.severity} | {rule.title} |\n" for rule in RULES)
    return "| rule | severity | problem |\n|---|---|---|\n" + "".join(rows)


def _rule_weights() -> str:
    shares = ", ".join(f"{severity} {share:.0%}" for severity, share in SHARES.items())
    heavy = ", ".join(
        f"`{rule.id}` {share_of(rule.severity, rule.weight):.0%}" for rule in RULES if rule.weight != 1
    )
    return f"The first finding of a rule takes: {shares}; {heavy}."


def _rule_details(rule: Rule) -> str:
    texts = rule_texts()[rule.id]
    note = f" ({texts['note']})" if "note" in texts else ""
    parts = [
        f"### {rule.id}",
        f"*{rule.severity}; needs {_NEEDS[rule.needs]}.* {texts['title']} {texts['why']}",
        f"**Fix.** {texts['fix']}",
        f"Found in{note}:",
        _json_lines(texts["bad"]),
    ]
    if texts["good"] != texts["bad"]:
        parts += ["Not in:", _json_lines(texts["good"])]
    return "".join(f"\n{part}\n" for part in parts)


def _json_lines(tools: list[dict[str, Any]]) -> str:
    return "```json\n[" + ",\n ".join(json.dumps(one, ensure_ascii=False) for one in tools) + "]\n```"


def settings() -> dict[str, list[tuple[str, str, str, str]]]:
    """Return name, type, default and meaning of every setting, by section."""
    sections: dict[str, type[BaseModel]] = {
        **SECTIONS,
        "programs.lm": LmConfig,
        "profiles.NAME": Profile,
        "http.tokens.NAME": TokenEntry,
    }
    tables = {
        name: [
            (f"{name}.{key}", kind, default, meaning) for key, kind, default, meaning in _settings_of(model)
        ]
        for name, model in sections.items()
    }
    return {**tables, "server entry": _settings_of(ServerEntry), "top level": _settings_of(TopLevel)}


def with_tables(page: str) -> str:
    """Put each table of settings in its place: the one that has the setting of the first row."""

    def table(found: re.Match[str]) -> str:
        rows = next(rows for rows in settings().values() if found["first"] in {row[0] for row in rows})
        return _SETTINGS_HEAD + "".join(f"| `{name}` | {' | '.join(cells)} |\n" for name, *cells in rows)

    pattern = re.escape(_SETTINGS_HEAD) + r"\| `(?P<first>[\w.]+)` \|[^\n]*\n(?:\|[^\n]*\n)*"
    return re.sub(pattern, table, page)


def _settings_of(model: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    schema = model.model_json_schema()
    return [
        (
            info.alias or name,
            _kind(schema["properties"][info.alias or name]),
            _default(info.get_default(call_default_factory=True)),
            info.description or "",
        )
        for name, info in model.model_fields.items()
    ]


_PLAIN_KINDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
}


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what a setting takes, in words."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if 0 < len(choices) <= _MOST_CHOICES:
        return join(choices, "or")
    if schema.get("type") == "array":
        kind = _kind(schema["items"])
        return (
            "a list of mappings"
            if kind == "a mapping"
            else "a list of strings"
            if kind == "a string"
            else f"a list of {kind}"
        )
    if schema.get("type") == "object" or "$ref" in schema:
        return "a mapping"
    if schema.get("format") == "path":
        return "a path"
    limit = (
        " greater than 0" if "exclusiveMinimum" in schema else " of at least 0" if "minimum" in schema else ""
    )
    return _PLAIN_KINDS[schema["type"]] + limit


def _default(value: Any) -> str:
    if value is None or value is PydanticUndefined:
        return "none"
    if value in ((), {}) or isinstance(value, BaseModel):
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, tuple):
        return ", ".join(map(_default, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def config_schema() -> str:
    """Return the JSON Schema of the configuration file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **ConfigFile.model_json_schema()}
    schema["properties"]["$schema"] = {"type": "string"}
    return json.dumps(schema, indent=2, ensure_ascii=False)


# Commands ---------------------------------------------------------------------------------------------

_COMMANDS_INTRO = """\
Every command, with its arguments and options. `halflap COMMAND --help` shows the same.

Data goes to standard output, everything else to standard error. With `--json` the data is JSON, and so is an error:
`{"error": true, "code": …, "message": …}`; [Errors](../errors.md) has every code.

| exit code | meaning |
|---|---|
| 0 | Success. |
| 1 | Failure; for commands that look for problems, a problem. |
| 2 | Wrong usage: an option, argument, name or the configuration. |
| 130 | Interrupted by Ctrl-C. |

[Configuration](../configuration.md) explains which file is read without `--config`. `halflap --install-completion` sets up your
shell to complete commands and options (`--show-completion` prints the setup), and `halflap --version` prints the version.
"""


def every_command() -> Iterator[tuple[str, Command, Context]]:
    """Yield each command with the words that call it."""
    root = get_command(app)
    yield from _below(root, "halflap", None)


def _below(command: Command, path: str, parent: Context | None) -> Iterator[tuple[str, Command, Context]]:
    context = Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    if parent is not None:
        yield path, command, context
    if isinstance(command, TyperGroup):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from _below(inner, f"{path} {name}", context)


def commands_page() -> str:
    """Return the page of the commands."""
    parts = ["# Commands\n", _MADE.strip() + "\n", _COMMANDS_INTRO]
    for path, command, context in every_command():
        level = "##" if path.count(" ") == 1 else "###"
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        parts += [f"{level} {path}\n", f"{inspect.cleandoc(command.help or '')}\n", f"    {usage}\n"]
        for kind, head in (("argument", ("argument", "meaning")), ("option", ("option", "meaning"))):
            params = [one for one in command.params if one.param_type_name == kind and not _is_anywhere(one)]
            if rows := [_row(one, context) for one in params]:
                parts.append(_table(head, rows))
    return "\n".join(parts)


_KINDS = {"<str>": "TEXT", "<int range>": "NUMBER", "<path>": "FILE"}


def _is_anywhere(option: Parameter) -> bool:
    return bool(_ANYWHERE.intersection(option.opts)) or getattr(option, "hidden", False)


def _row(one: Parameter, context: Context) -> tuple[str, str]:
    """Return what `--help` says about an argument or option."""
    record = one.get_help_record(context)
    assert record is not None, one.name
    name, meaning = record
    if one.param_type_name == "argument":
        name = re.sub(r" <.*>$", "", name)
    for kind, word in _KINDS.items():
        name = name.replace(kind, word)
    meaning = re.sub(r"\s+\[([^\]]*)\]$", r" (\1)", re.sub(r"\s+", " ", meaning))
    return f"`{name}`", re.sub(r"(\d+)<=x<=(\d+)", r"\1 to \2", meaning)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


# MCP tools --------------------------------------------------------------------------------------------

_TOOLS_INTRO = """\
The tools of `halflap serve`, whatever servers are behind it. The texts are those that the model gets. Clients see the first six;
the `dspy_` tools are added once `programs.lm` is set, and the `gepa_` tools if [`server.families`](../configuration.md#what-clients-see)
names `gepa`.

An answer with fields has them as structured content, and as the same JSON in text. If `isError` is true, the error's code is
in `_meta.halflap.code`; [Errors](../errors.md) explains each. Every tool can answer with {anywhere}.
"""


def own_tools() -> Sequence[OwnTool]:
    """Return all tools that a client can see."""

    async def listed() -> Sequence[OwnTool]:
        with tempfile.TemporaryDirectory() as folder:
            config = Config.from_mapping({"server": {"families": ["core", "dspy", "gepa"]}})
            async with Gateway.open(dataclasses.replace(config, data_dir=Path(folder))) as gateway:
                return Front(gateway).tools

    return asyncio.run(listed())


def tools_page(tools: Sequence[OwnTool]) -> str:
    """Return the page of our MCP tools."""
    anywhere = " and ".join(map(_link, _OF_EVERY_TOOL))
    parts = ["# MCP tools\n", _MADE.strip() + "\n", _TOOLS_INTRO.format(anywhere=anywhere)]
    for tool in tools:
        effect = (
            "It changes nothing."
            if tool.definition["annotations"].get("readOnlyHint")
            else "It may change something."
        )
        described = re.sub(r"(?<!`)\b\w+__<\w+>(?:__<\w+>)?", r"`\g<0>`", tool.description)
        parts += [f"## {tool.name}\n", f"{described}\n", f"{effect}\n"]
        properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
        needed = tool.input_schema.get("required", [])
        rows = [
            (f"`{name}`", _type(one), _given(one, name in needed), one.get("description", ""))
            for name, one in properties.items()
        ]
        parts.append(
            _table(("argument", "type", "default", "meaning"), rows) if rows else "It takes no arguments.\n"
        )
        if "outputSchema" not in tool.definition:
            parts.append("It answers with text, and what a program showed: images, sounds, resources.\n")
        else:
            fields = [
                (f"`{path}`", _type(one), one.get("description", ""))
                for path, one in _fields(_resolved(tool.definition["outputSchema"]), "")
            ]
            parts.append(_table(("field of the answer", "type", "meaning"), fields))
        if tool.errors:
            parts.append(f"Errors: {', '.join(map(_link, tool.errors))}.\n")
    return "\n".join(parts) + _RESOURCES


_RESOURCES = """
## Resources

`halflap://runs/{run}/output` is everything that a program printed, even if the answer of `execute_program` was truncated. Each
client sees only its own runs. Errors: [`run-not-found`](../errors.md#run-not-found),
[`output-not-kept`](../errors.md#output-not-kept).
"""


def _link(code: str) -> str:
    return f"[`{code}`](../errors.md#{code})"


def _resolved(schema: Any, definitions: Mapping[str, Any] | None = None) -> Any:
    """Return a schema with its references replaced, and `X | None` as one schema; ours are not recursive."""
    if isinstance(schema, list):
        return [_resolved(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
        del schema["$ref"]
    own = {key: _resolved(one, definitions) for key, one in schema.items() if key != "$defs"}
    *kinds, last = own.pop("anyOf", [{}])
    if len(kinds) == 1 and last == {"type": "null"}:
        return {**kinds[0], **own, "type": [kinds[0].get("type", "any"), "null"]}
    return own


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "any")
    words = [kind] if isinstance(kind, str) else list(kind)
    if words == ["array"]:
        return f"list of {_type(schema.get('items', {}))}s"
    least, most = schema.get("minimum"), schema.get("maximum")
    within = f", {least} to {most}" if least is not None and most is not None else ""
    return " or ".join(words) + within


def _given(schema: Mapping[str, Any], needed: bool) -> str:
    if needed:
        return "required"
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else "none"


def _fields(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, one in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield place, one
        yield from _fields(one, place)
        if "items" in one:
            yield from _fields(one["items"], f"{place}[]")


# Python -----------------------------------------------------------------------------------------------

_PYTHON_INTRO = """\
What `halflap` exports, and the errors of `halflap.core.errors`. Everything else may change without notice. Names are loaded when they are first asked for, so
`import halflap` costs nothing.
"""


def python_page() -> str:
    """Return the page of the public names."""
    parts = ["# Python\n", _MADE.strip() + "\n", _PYTHON_INTRO]
    for name in halflap.__all__:
        if name == "__version__":
            continue
        parts += list(_of_name(name, getattr(halflap, name)))
    parts += ["## `__version__`\n", "The version, as text.\n"]
    parts += ["## Errors\n", "Everything in `halflap.core.errors` that can be raised.\n", _errors()]
    return "\n".join(parts)


def _of_name(name: str, value: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if inspect.isclass(value) and value.__name__ != name:
        yield f"Another name of [{value.__name__}](#{value.__name__.lower()}).\n"
        return
    if not inspect.isclass(value):
        yield f"```python\n{_signature(name, value)}\n```\n"
    yield f"{_said(value)}\n"
    if not inspect.isclass(value):
        return
    if issubclass(value, HalflapError):
        yield f"Its code is {_link(value.code)}.\n"
    if dataclasses.is_dataclass(value):
        said = _said_of_fields(value)
        rows = [
            (f"`{one.name}`", f"`{_type_name(one.type)}`", _of_field(one), said.get(one.name, ""))
            for one in dataclasses.fields(value)
        ]
        yield _table(("field", "type", "default", "meaning"), rows)
    members = list(_members(value))
    if members:
        yield "".join(f"- `{signature}`: {said}\n" for signature, said in members)


def _said_of_fields(value: type) -> dict[str, str]:
    """Read the texts that stand under the fields of a class."""
    body = ast.parse(inspect.cleandoc(inspect.getsource(value))).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for one, after in pairwise(body.body):
        if (
            isinstance(one, ast.AnnAssign)
            and isinstance(one.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            said[one.target.id] = re.sub(r"\s+", " ", str(after.value.value))
    return said


def _errors() -> str:
    """List every exception with its code."""
    classes = [
        value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, HalflapError)
    ]
    rows = [
        (f"`{value.__name__}`", f"`{value.__mro__[1].__name__}`", _link(value.code))
        for value in sorted(classes, key=lambda value: value.__name__)
    ]
    return _table(("error", "is a", "code"), rows)


def _members(value: type) -> Iterator[tuple[str, str]]:
    fields = {one.name for one in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    for name, one in inspect.getmembers_static(value):
        if name.startswith("_") or name in fields or getattr(BaseException, name, None) is not None:
            continue
        plain = one.__func__ if isinstance(one, classmethod | staticmethod) else one
        if isinstance(plain, property):
            yield name, _said(plain.fget)
        elif isinstance(plain, cached_property):
            yield name, _said(plain.func)
        elif inspect.isfunction(plain):
            yield _signature(name, plain), _said(plain)


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name not in {"self", "cls"}]
    is_async = inspect.iscoroutinefunction(function)
    return f"{'await ' if is_async else ''}{name}{signature.replace(parameters=given)}".replace("'", "")


def _said(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return re.sub(r"\s*\n\s*", " ", text.partition("\n\n")[0])


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _of_field(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    return "required" if field.default_factory is dataclasses.MISSING else "its own default"


# The command ------------------------------------------------------------------------------------------


def main() -> None:
    """Write the pages, or say which are not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; the exit code is 1 if a page is not up to date"
    )
    only_check = parser.parse_args().check
    stale = [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if not only_check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pages()[path], encoding="utf-8")
        sys.stdout.write(
            f"{'not up to date' if only_check else 'written'}: {path.relative_to(DOCS.parent)}\n"
        )
    sys.exit(1 if stale and only_check else 0)


if __name__ == "__main__":
    main()
