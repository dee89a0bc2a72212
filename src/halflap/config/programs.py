"""What the `programs` section takes: where DSPy programs are, and the language model that they ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from halflap.config.kinds import WRONG, Choice, Kind, Number, Text
from halflap.config.nodes import Node, shown
from halflap.config.places import path_from

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.config.nodes import Problems

__all__ = ["CacheKind", "LmConfig", "LmKind", "ProgramsConfig", "read_programs"]

_LM_KEYS: Mapping[str, Kind] = {
    "model": Text(),
    "api_base": Text(secret=True),
    "api_key": Text(secret=True),
    "timeout": Number(),
    "temperature": Number(zero=True),
    "max_tokens": Number(whole=True),
    "adapter": Choice(options=("chat", "json")),
}
_MODEL = re.compile(r"[^\s/]+/\S+")
_OFF = "off"


@dataclass(frozen=True, slots=True, repr=False)
class LmConfig:
    """The language model of DSPy programs, as DSPy names it, and how to reach it."""

    model: str
    """With its provider: `openai/gpt-4o-mini`."""
    api_base: str | None = None
    api_key: str | None = None
    timeout: float | None = None
    """How long one answer may take, in seconds; None for as long as the program may."""
    temperature: float | None = None
    max_tokens: int | None = None
    adapter: Literal["chat", "json"] = "chat"

    def __repr__(self) -> str:
        """Show nothing of the key, and of the address nothing either: there may be one in it."""
        key = "None" if self.api_key is None else "…"
        return f"LmConfig(model={self.model!r}, api_key={key})"


@dataclass(frozen=True, slots=True)
class ProgramsConfig:
    """DSPy programs: where they are, how long they may run, and what they ask."""

    root: Path | None = None
    """None for those that ship with Halflap."""
    watch: bool = False
    timeout_seconds: float = 60.0
    cache: Path | Literal["off"] | None = None
    """Where answers of the model are kept; None for a folder of Halflap's own."""
    lm: LmConfig | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKind(Text):
    """A folder, or the word that there is none."""

    noun: str = "the path of a folder, or off"

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        # `false` is how the other flags are written, and can mean nothing else here.
        return _OFF if node.value is False else Text.read(self, node, where, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class LmKind(Kind):
    """A language model: its name, and how to reach it."""

    @property
    def expected(self) -> str:
        *others, last = _LM_KEYS
        return f"a mapping with {', '.join(others)} and {last}"

    def advice(self, node: Node) -> str | None:
        if isinstance(node.value, str):
            return f"Write `lm:` and below it, indented, `model: {shown(node.value)}`."
        return "Write `lm:` and below it, indented, `model: openai/gpt-4o-mini`."

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, Mapping):
            return self.wrong(node, where, problems)
        before = len(problems.found)
        for key, member in node.value.items():
            if key not in _LM_KEYS:
                problems.add(
                    member.line,
                    f"unknown key `{shown(key)}` in `{where}`.",
                    f"There are: {', '.join(_LM_KEYS)}.",
                    code="config-unknown-key",
                )
        values = {
            key: kind.read(node.value[key], f"{where}.{key}", problems)
            for key, kind in _LM_KEYS.items()
            if key in node.value
        }
        if "model" not in values:
            problems.add(
                node.line, f"{where} has no `model`.", "Name one as DSPy does: `model: openai/gpt-4o-mini`."
            )
        return WRONG if len(problems.found) > before else values


def read_programs(
    values: Mapping[str, Any],
    section: Node,
    problems: Problems,
    *,
    expand: Callable[[str, str, int | None], str | None],
    folder: Path,
    home: Path,
) -> ProgramsConfig:
    """Make the section's values what they mean: variables filled in, paths from the file's folder on."""

    def path(key: str) -> Path | None:
        text = (
            None if key not in values else expand(values[key], f"programs.{key}", section.mapping[key].line)
        )
        return None if text is None else path_from(text, folder, home)

    cache: Path | Literal["off"] | None = "off" if values.get("cache") == _OFF else path("cache")
    lm = None if "lm" not in values else _read_lm(values["lm"], section.mapping["lm"], problems, expand)
    return ProgramsConfig(**{**values, "root": path("root"), "cache": cache, "lm": lm})


def _read_lm(
    values: Mapping[str, Any],
    node: Node,
    problems: Problems,
    expand: Callable[[str, str, int | None], str | None],
) -> LmConfig | None:
    texts = {
        key: expand(values[key], f"programs.lm.{key}", node.mapping[key].line)
        for key in ("model", "api_base", "api_key")
        if key in values
    }
    model, address = texts["model"], texts.get("api_base")
    if model is not None and not _MODEL.fullmatch(model):
        problems.add(
            node.mapping["model"].line,
            f'programs.lm.model must be a provider and a model, not "{shown(model)}".',
            f"Write the provider before it, as DSPy does: `openai/{shown(model)}`, or `ollama_chat/…`.",
        )
    if address is not None and not _is_address(address):
        problems.add(
            node.mapping["api_base"].line,
            "programs.lm.api_base must be a URL that starts with http:// or https://, without user or password.",
            "Write `http://localhost:11434/v1`, say; the key goes under `api_key`.",
        )
    if None in texts.values():
        return None
    return LmConfig(**{**values, **texts})


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    has_place = bool(parts.hostname) and parts.scheme in {"http", "https"} and port != 0
    return has_place and parts.username is None and not re.search(r"[\s\x00-\x1f]", text)
