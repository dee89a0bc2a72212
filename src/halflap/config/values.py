"""Types of the values that settings take.

Validators expand variables and resolve paths when they are given a `ReadContext`; without one, as when code builds a
section or a server is only shown, values stay as written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from halflap.config.expand import Scope, expand
from halflap.config.paths import path_from, with_home
from halflap.config.problems import problem, show

_LARGEST = 10**12
"""The largest number that a setting takes; far above any real value, far below what overflows."""
_MIN_TOKEN = 16
_TOKEN = re.compile(rf"[!-~]{{{_MIN_TOKEN},}}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MODEL_NAME = re.compile(r"[^\s/]+/\S+")
_POSTGRES = re.compile(r"postgresql(\+[a-z0-9_]+)?://")

LINT_RULES = (
    "no-output-schema",
    "empty-output-schema",
    "results-break-schema",
    "invalid-schema",
    "error-as-text",
    "errors-not-declared",
    "envelope-in-part",
    "name-characters",
    "name-too-long",
    "prefixed-name-too-long",
    "duplicate-name",
    "no-description",
    "description-too-long",
    "parameter-without-description",
    "field-without-description",
    "id-not-produced",
    "id-not-accepted",
    "entity-named-two-ways",
    "number-without-unit",
    "date-without-format",
    "paging-without-cursor",
    "cursor-not-given",
    "next-cursor-not-accepted",
    "paging-without-has-more",
    "read-only-not-annotated",
    "destructive-not-annotated",
    "annotation-contradicts-name",
    "ignore-without-reason",
)
"""The ids of all lint rules, in their order; `halflap.lint` has the rules themselves."""


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What validators need to know about the file."""

    folder: Path
    """Relative paths start here."""
    scope: Scope

    def path(self, text: str) -> Path:
        return path_from(text, self.folder, self.scope.home)


def _context(info: ValidationInfo) -> ReadContext | None:
    return info.context if isinstance(info.context, ReadContext) else None


def _expand(text: str, info: ValidationInfo) -> str:
    context = _context(info)
    if context is not None:
        text, flaws = expand(text, context.scope)
        if flaws:
            raise problem("config-variable", flaws[0].message, flaws[0].suggestion)
    if "\0" in text:
        raise problem("config-wrong-value", "it contains a NUL character.", "Remove it.")
    return text


def _expand_to_something(text: str, info: ValidationInfo) -> str:
    if not text.strip():
        raise problem("config-wrong-value", "it must not be empty.", "Leave it out instead.")
    expanded = _expand(text, info)
    if not expanded.strip():
        raise problem(
            "config-variable",
            "it is empty once its variables are expanded.",
            "Set the variable, or give a default: `${NAME:-default}`.",
        )
    return expanded


def _expand_path(value: Any, info: ValidationInfo) -> Any:
    context = _context(info)
    if context is None or not isinstance(value, str):
        return value
    return context.path(_expand_to_something(value, info))


def _expand_path_text(text: str, info: ValidationInfo) -> str:
    context = _context(info)
    return text if context is None else str(context.path(text))


def _expand_command(text: str, info: ValidationInfo) -> str:
    context = _context(info)
    return text if context is None else with_home(text, context.scope.home)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_host and url.isprintable() and " " not in url


def _server_url(url: str, info: ValidationInfo) -> str:
    if (_context(info) is not None or "${" not in url) and not _is_web_address(url):
        raise problem(
            "config-wrong-value",
            "it must be a URL that starts with http:// or https://.",
            "Write it in full, such as `https://mcp.example.com/mcp`.",
        )
    return url


def _api_base(url: str) -> str:
    if not _is_web_address(url) or urlsplit(url).username is not None:
        raise problem(
            "config-wrong-value",
            "it must be a URL that starts with http:// or https://, without user and password.",
            "Write for example `http://localhost:11434/v1`; the key goes into `api_key`.",
        )
    return url


def _model_name(name: str) -> str:
    if not _MODEL_NAME.fullmatch(name):
        raise problem(
            "config-wrong-value",
            "it must be a provider and a model.",
            f"Put the provider in front, as DSPy does: `openai/{show(name)}`.",
        )
    return name


def _database_url(url: str) -> str:
    if not _POSTGRES.match(url):
        raise problem(
            "config-wrong-value",
            "it must be the URL of a PostgreSQL database.",
            "Write `postgresql+psycopg://user@host/database`; a SQLite file goes into `store.path`.",
        )
    return url


def _token(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise problem(
            "config-wrong-value",
            f"a token needs at least {_MIN_TOKEN} ASCII characters without blanks.",
            'Make one with `python -c "import secrets; print(secrets.token_urlsafe(32))"`.',
        )
    return token


def _different(tokens: dict[str, str]) -> dict[str, str]:
    if len(set(tokens.values())) < len(tokens):
        raise problem("config-wrong-value", "two people have the same token.", "Give each their own.")
    return tokens


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise problem("config-header", "this is not a header name.", "Use letters, digits and `-`.")
    return name


def _header_value(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise problem("config-header", "a header can't contain a line break.", "A variable may end in one.")
    if not value.isascii():
        raise problem("config-header", "a header can only contain ASCII characters.")
    return value


def _variable_name(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise problem("config-wrong-value", "this can't be the name of a variable.", "Remove the `=`.")
    return name


def _tool_pattern(pattern: str) -> str:
    """Write a pattern as tools are named: `_` for what can't be in the name of a tool."""
    return pattern if "[" in pattern else re.sub(r"[^0-9A-Za-z_*?]", "_", pattern)


def _lint_rule(name: str) -> str:
    if name not in LINT_RULES:
        raise _unknown_rule(name)
    return name


def _lint_rule_pattern(pattern: str) -> str:
    if not any(fnmatchcase(rule, pattern) for rule in LINT_RULES):
        raise _unknown_rule(pattern)
    return pattern


def _unknown_rule(name: str) -> PydanticCustomError:
    from halflap.core.suggest import did_you_mean  # noqa: PLC0415 -- rapidfuzz is slow to import

    advice = did_you_mean(name, LINT_RULES, otherwise="docs/lint.md lists the rules.")
    return problem("config-wrong-value", "there is no such lint rule.", advice)


def _root(text: str, info: ValidationInfo) -> str:
    if "://" not in text:
        context = _context(info)
        return text if context is None else context.path(text).as_uri()
    if not text.startswith("file:///"):
        raise problem("config-wrong-value", "it must be a path or start with file:///.")
    return text


def _or_else(message: str) -> WrapValidator:
    """Report one error for a value of several types, instead of one for each type."""

    def validate(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            own = [one for one in error.errors() if one["type"].startswith("config-")]
            if own:
                context = own[0]["ctx"]
                raise PydanticCustomError(own[0]["type"], "{message}", context) from None
            raise problem("config-wrong-value", f"it must be {message}.") from None

    return WrapValidator(validate)


def transport_name(value: Any) -> Any:
    """Return our name of a transport that other clients spell differently."""
    return "http" if value in ("streamable-http", "streamable_http", "streamableHttp") else value


def _off(value: Any) -> Any:
    return "off" if value is False else value


_NOT_BLANK = Field(pattern=r"\S")
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, gt=0, le=_LARGEST)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=_LARGEST, allow_inf_nan=False)]
Freshness = Annotated[float, Field(strict=True, ge=0, le=_LARGEST, allow_inf_nan=False)]
Text = Annotated[str, _NOT_BLANK]
Expanded = Annotated[str, AfterValidator(_expand_to_something)]
PathText = Annotated[Expanded, AfterValidator(_expand_path_text), Field(json_schema_extra={"format": "path"})]
MaybeEmpty = Annotated[str, AfterValidator(_expand)]
ExpandedPath = Annotated[Path, BeforeValidator(_expand_path)]
Pattern = Annotated[str, _NOT_BLANK, AfterValidator(_tool_pattern)]
_SCALARS = WithJsonSchema(
    {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
)

TransportName = Annotated[Literal["stdio", "http", "sse"], BeforeValidator(transport_name)]
Command = Annotated[Expanded, AfterValidator(_expand_command)]
ServerUrl = Annotated[Expanded, AfterValidator(_server_url)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
Environment = Annotated[dict[VariableName, MaybeEmpty], _SCALARS]
InheritedEnvironment = Annotated[
    Flag | tuple[VariableName, ...], _or_else("true, false or a list of names of variables")
]
Headers = Annotated[
    dict[Annotated[str, AfterValidator(_header_name)], Annotated[MaybeEmpty, AfterValidator(_header_value)]],
    _SCALARS,
]
DatabaseUrl = Annotated[Expanded, AfterValidator(_database_url)]
ApiBase = Annotated[Expanded, AfterValidator(_api_base)]
ModelName = Annotated[Expanded, AfterValidator(_model_name)]
Tokens = Annotated[dict[str, Annotated[Expanded, AfterValidator(_token)]], AfterValidator(_different)]
CacheFolder = Annotated[
    Literal["off"] | ExpandedPath | None, BeforeValidator(_off), _or_else("the path of a folder, or off")
]
Root = Annotated[Expanded, AfterValidator(_root)]
LintRule = Annotated[str, AfterValidator(_lint_rule), Field(json_schema_extra={"enum": list(LINT_RULES)})]
LintRulePattern = Annotated[str, _NOT_BLANK, AfterValidator(_lint_rule_pattern)]
