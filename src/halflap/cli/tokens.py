"""Count the tokens that a text costs a model, with a real tokenizer where one is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TO_COUNT", "count_tokens", "tokenizer_name"]

TO_COUNT = "install a tokenizer with `pip install 'halflap[tokens]'`"


@cache
def _tokenizer() -> tuple[str, Callable[[str], int]] | None:
    """Return the name of a vocabulary and a function that counts; None if no tokenizer is installed."""
    if find_spec("splintr") is not None:
        vocabulary = import_module("splintr").Tokenizer.from_pretrained("o200k_base")
        # `encode` would read the names of special tokens in a text as such.
        return "o200k_base", lambda text: len(vocabulary.encode_ordinary(text))
    return _of_llama()


def _of_llama() -> tuple[str, Callable[[str], int]] | None:
    """Load the tokenizer of Llama 2, which comes with `halflap[semantic]`."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations or find_spec("tokenizers") is None:
        return None
    file = Path(spec.submodule_search_locations[0], "tokenizers", "l2_supercat_tokenizer_config.json")
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return "Llama 2", lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def tokenizer_name() -> str | None:
    """Return the name of the vocabulary; None if no tokenizer is installed."""
    tokenizer = _tokenizer()
    return None if tokenizer is None else tokenizer[0]


def count_tokens(text: str) -> int | None:
    """Return the number of tokens; None if no tokenizer is installed."""
    tokenizer = _tokenizer()
    # A server may send lone surrogates, which have no tokens.
    return None if tokenizer is None else tokenizer[1](text.encode(errors="replace").decode())
