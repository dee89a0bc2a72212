"""Types of settings. Variables are expanded before validation."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema

from halflap.config.expand import Scope
from halflap.config.paths import with_home
from halflap.config.reader import problem
from halflap.config.syntax import show
from halflap.core.codes import ConfigCode
from halflap.core.values import OWN

_LARGEST = 10**12
"""The largest number in any setting; far above real values, far below an overflow."""


def _scope(info: ValidationInfo) -> Scope | None:
    return info.context if isinstance(info.context, Scope) else None


def _matching(pattern: str, message: str, code: ConfigCode = "config-wrong-value") -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise problem(code, message)
        return text

    return AfterValidator(check)


def _absolute(value: Any, info: ValidationInfo) -> Any:
    """Resolve a path relative to the folder of the file, if there is a scope."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        raise problem("config-wrong-value", "must not be empty.")
    scope = _scope(info)
    return Path(value) if scope is None else scope.path(value)


def _cache_folder(value: Any, info: ValidationInfo) -> Any:
    if value is not None and not isinstance(value, str | Path):
        raise problem("config-wrong-value", "must be the path of a folder, or off.")
    return value if value == "off" else _absolute(value, info)


def _command(text: str, info: ValidationInfo) -> str:
    scope = _scope(info)
    return text if scope is None else with_home(text, scope.home)


def _root(text: str, info: ValidationInfo) -> str:
    if "://" not in text:
        scope = _scope(info)
        return text if scope is None else scope.path(text).as_uri()
    if not text.startswith("file:///"):
        raise problem("config-wrong-value", "must be a path or start with file:///.")
    return text


def _web_address(url: str, info: ValidationInfo) -> str:
    if _scope(info) is None and "${" in url:
        return url
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not url.isprintable() or " " in url:
        raise problem("config-wrong-value", "must be a URL such as `https://mcp.example.com/mcp`.")
    return url


def _number_as_text(value: Any) -> Any:
    # Floats are refused: `1.10` would become 1.1.
    return json.dumps(value) if isinstance(value, int) else value


def _inherited(value: Any) -> Any:
    names = value if isinstance(value, list | tuple) else [None]
    is_names = all(isinstance(name, str) and name and "=" not in name for name in names)
    if not isinstance(value, bool) and not is_names:
        raise problem("config-wrong-value", "must be true, false or a list of names of variables.")
    return value


def _tool_pattern(pattern: str) -> str:
    """Normalize a pattern like a tool's name; refuse one that can't match any tool."""
    pattern = pattern if "[" in pattern else re.sub(r"[^0-9A-Za-z_*?]", "_", pattern)
    start = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    prefixes = ("mcp__", *(f"{name}__" for name in OWN))
    if not start.startswith(prefixes) and (
        start == pattern or not any(prefix.startswith(start) for prefix in prefixes)
    ):
        raise problem(
            "config-wrong-value",
            f"is `{show(pattern)}`, which can't match any tool.",
            "Tools are named `mcp__<server>__<tool>`, saved scripts `script__<name>`, DSPy programs `dspy__<name>`.",
        )
    return pattern


def transport_name(value: Any) -> Any:
    """Return our name for a transport that other clients spell differently."""
    return "http" if value in ("streamable-http", "streamable_http", "streamableHttp") else value


Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, gt=0, le=_LARGEST)]
Port = Annotated[int, Field(strict=True, gt=0, le=65_535)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=_LARGEST, allow_inf_nan=False)]
Freshness = Annotated[float, Field(strict=True, ge=0, le=_LARGEST, allow_inf_nan=False)]
Text = Annotated[str, Field(pattern=r"\S")]
FilePath = Annotated[Path, BeforeValidator(_absolute)]
CacheFolder = Annotated[Literal["off"] | Path | None, BeforeValidator(_cache_folder)]
Root = Annotated[Text, AfterValidator(_root)]

TransportName = Annotated[Literal["stdio", "http", "sse"], BeforeValidator(transport_name)]
Command = Annotated[Text, AfterValidator(_command)]
WebAddress = Annotated[Text, AfterValidator(_web_address)]
_Scalar = Annotated[
    str,
    BeforeValidator(_number_as_text),
    WithJsonSchema({"type": ["string", "integer", "boolean"]}),
]
_VariableName = Annotated[str, _matching(r"[^=\0]+", "is not a valid variable name.")]
_HeaderName = Annotated[
    str, _matching(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "is not a valid header name.", "config-header")
]
_HeaderValue = Annotated[
    _Scalar, _matching(r"[\t -~]*", "must be printable ASCII, without a line break.", "config-header")
]
Environment = dict[_VariableName, _Scalar]
InheritedEnvironment = Annotated[bool | tuple[str, ...], BeforeValidator(_inherited)]
Headers = dict[_HeaderName, _HeaderValue]

DatabaseUrl = Annotated[
    str,
    _matching(r"postgresql(\+psycopg)?://\S+", "must be of the form `postgresql://user@host/database`."),
]
ApiBase = Annotated[
    WebAddress, _matching(r"[^@]*", "must not contain a user or password; the key goes into `api_key`.")
]
ModelName = Annotated[
    str, _matching(r"[^\s/]+/\S+", "must be a provider and a model, such as `openai/gpt-4o-mini`.")
]
Token = Annotated[str, _matching(r"[!-~]{16,}", "must be at least 16 ASCII characters without blanks.")]
TokenHash = Annotated[
    str, _matching(r"sha256:[0-9a-f]{64}", "must be a hash that `halflap token add` wrote.")
]
Pattern = Annotated[Text, AfterValidator(_tool_pattern)]
