"""Count the tokens that a text costs a model, with a real tokenizer where one is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["count_tokens"]


@cache
def _tokenizer() -> Any:
    """Load the tokenizer of Llama 2, which comes with `halflap[semantic]`; None where that is not installed."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations or find_spec("tokenizers") is None:
        return None
    file = Path(spec.submodule_search_locations[0], "tokenizers", "l2_supercat_tokenizer_config.json")
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def count_tokens(text: str) -> int | None:
    """Give the number of tokens; None where nothing can count them."""
    tokenizer = _tokenizer()
    if tokenizer is None:
        return None
    return len(tokenizer.encode(text.encode(errors="replace").decode(), add_special_tokens=False).ids)
