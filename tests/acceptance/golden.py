"""Golden files: the output of the product as last reviewed and accepted."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"
WRITING = os.environ.get("HALFLAP_GOLDEN") == "write"
WIDTH = 140


def check(name: str, value: Any) -> None:
    """Compare a value with the golden file of that name; with HALFLAP_GOLDEN=write, replace a file that differs."""
    file = FOLDER / f"{name}.json"
    agreed = file.read_text(encoding="utf-8") if file.exists() else "null"
    # Compared as text: 1, 1.0 and true are different answers. The order of keys does not matter.
    if json.dumps(json.loads(agreed), sort_keys=True) == json.dumps(value, sort_keys=True):
        return
    text = pretty(value) + "\n"
    if WRITING:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    shown = f"golden/{name}.json"
    diff = difflib.unified_diff(agreed.splitlines(), text.splitlines(), shown, "now", lineterm="")
    raise AssertionError(
        f"{shown} is no longer what the product shows. If the change is intended, run `make golden` "
        "and commit the difference.\n" + "\n".join(diff)
    )


def pretty(value: Any, indent: str = "") -> str:
    """Format JSON for a reviewer: whatever fits is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {pretty(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(one, inner) for one in value) + f"\n{indent}]"
