"""Turns the bytes of a file, or a Python mapping, into values with positions."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from halflap.config.jsonc import read_jsonc
from halflap.config.nodes import DEEPEST, MOST_NODES, Node, Problems, broken_text, shown

__all__ = ["LARGEST_FILE", "document", "document_of", "file_bytes"]

LARGEST_FILE = 1024 * 1024


def file_bytes(path: Path, problems: Problems, *, regular: bool = False) -> bytes | None:
    """Read a file once, or say why it cannot be; `regular` refuses pipes and devices without waiting."""
    try:
        # Without O_NONBLOCK, opening a named pipe waits for somebody to write to it.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | (getattr(os, "O_NONBLOCK", 0) if regular else 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISDIR(mode) or (regular and not stat.S_ISREG(mode)):
                problems.add(
                    None, "this is not a file.", "Name a file, not a folder.", code="config-unreadable"
                )
                return None
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        problems.add(None, "there is no such file.", "Check its path.", code="config-not-found")
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        problems.add(
            None, f"it cannot be read: {reason}.", "Name a file that you may read.", code="config-unreadable"
        )
        return None
    if len(data) > LARGEST_FILE:
        problems.add(
            None, "it is larger than 1 MiB.", "No configuration is: check its path.", code="config-too-large"
        )
        return None
    return data


def document(data: bytes, path: Path, problems: Problems) -> Node | None:
    """Read a file's top-level mapping; None when there is none, and the problems say why."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(line, "the file is not UTF-8.", "Save it as UTF-8.", code="config-not-utf8")
        return None
    named_json = path.suffix.lower() in {".json", ".jsonc"}
    as_json = named_json or text.lstrip().startswith(("{", "["))
    root = (read_jsonc if as_json else _read_yaml)(text, problems)
    if root is None:
        if as_json and not named_json and problems.found[-1].suggestion is None:
            hint = "A file that starts with `{` or `[` is read as JSON."
            problems.found[-1] = replace(problems.found[-1], suggestion=hint)
        return None
    if not isinstance(root.value, Mapping):
        problems.add(
            root.line,
            f"the file must be a mapping of keys to values, not {root.kind}.",
            "Start with a key such as `mcpServers`.",
        )
        return None
    return root


def _read_yaml(text: str, problems: Problems) -> Node | None:
    from halflap.config.yaml12 import read_yaml  # noqa: PLC0415 -- most files are JSON, and its parser is large

    return read_yaml(text, problems)


def document_of(value: Any, problems: Problems) -> Node:
    """Give a Python value as a document; what no file could say is a problem."""
    return _Python(problems).convert(value, 1)


class _Python:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.nodes = 0
        self.full = False

    def convert(self, value: Any, depth: int) -> Node:
        self.nodes += 1
        if depth > DEEPEST or self.nodes > MOST_NODES:
            self._refuse_once(f"the configuration is nested more than {DEEPEST} deep or has too many values.")
            return Node(None)
        if value is None or isinstance(value, bool | int | float):
            return Node(value)
        if isinstance(value, str | Path):
            return self._text(str(value))
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
            return Node(tuple(self.convert(item, depth + 1) for item in value))
        self.problems.add(
            None,
            f"a value of type {type(value).__name__} cannot stand in a configuration.",
            "Use what JSON has: texts, numbers, booleans, lists and mappings.",
        )
        return Node(None)

    def _text(self, text: str) -> Node:
        if broken_text(text):
            self.problems.add(
                None, "a string holds half a surrogate pair, which is no character.", code="config-syntax"
            )
            text = text.encode(errors="replace").decode()
        return Node(text)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Node:
        members: dict[str, Node] = {}
        for key, member in value.items():
            if not isinstance(key, str):
                self.problems.add(None, f"a key must be a string, not of type {type(key).__name__}.")
            elif broken_text(key):
                self.problems.add(
                    None,
                    f"the key `{shown(key)}` holds half a surrogate pair, which is no character.",
                    code="config-syntax",
                )
            else:
                members[key] = self.convert(member, depth + 1)
        return Node(members)

    def _refuse_once(self, message: str) -> None:
        if not self.full:
            self.problems.add(None, message, code="config-too-large")
        self.full = True
