"""Embeddings, so that search finds what is meant and not only what is written; the extra `halflap[semantic]`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from halflap.catalog.search.words import words

logger = logging.getLogger(__name__)

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_MAX_TEXT = 2_000

_SHARE = 0.5
"""Weight of meaning beside words; between 0.3 and 0.7 it makes no difference."""
_MIN_SIMILARITY = 0.3
"""For texts without a word in common; most nonsense is less similar to anything."""


class Embedding:
    """A static embedding: a text's vector is the sum of its tokens' vectors.

    The files come with the package wordllama. Its own loader is not used because it reaches for the network.
    """

    def __init__(self, numpy: Any, vectors: Any, tokenizer: Any) -> None:
        self.numpy = numpy
        self._vectors = vectors
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> Embedding | None:
        """Read the files, which takes a moment; None where `halflap[semantic]` is not installed."""
        spec = find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(spec.submodule_search_locations[0])
        try:
            numpy = import_module("numpy")
            (vectors,) = import_module("safetensors.numpy").load_file(folder / _WEIGHTS).values()
            tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # noqa: BLE001  # three foreign libraries; search works without them
            logger.warning(
                "Search uses words alone: the files of `halflap[semantic]` are unreadable: %s", error
            )
            return None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(numpy, vectors, tokenizer)

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one row per text: a unit vector, or zeros for a text without words."""
        numpy = self.numpy
        split = [words(text[:_MAX_TEXT], wholes=False) for text in texts]
        # Texts share most of their words, so each word is tokenized once.
        known = {word: number for number, word in enumerate({word: None for text in split for word in text})}
        tokens = [self._tokenizer.encode(word, add_special_tokens=False).ids for word in known]
        of_words = self._sums(self._vectors, tokens)
        rows = self._sums(of_words, [[known[word] for word in text] for text in split])
        lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
        return rows / numpy.where(lengths == 0, 1, lengths)

    def _sums(self, vectors: Any, groups: Sequence[Sequence[int]]) -> Any:
        numpy = self.numpy
        rows = numpy.zeros((len(groups), vectors.shape[1]), dtype=numpy.float32)
        for row, group in zip(rows, groups, strict=True):
            # One row after the other stays in the processor's cache; all at once takes longer.
            if group:
                vectors.take(group, axis=0, mode="clip").sum(axis=0, dtype=numpy.float32, out=row)
        return rows


class SemanticIndex:
    """The vectors of all tools, numbered in order."""

    def __init__(self, embedding: Embedding, texts: Sequence[str]) -> None:
        self._embedding = embedding
        self._vectors = embedding.encode(texts)

    def best(
        self, by_words: list[float], query: str, among: range, limit: int
    ) -> tuple[dict[int, float], float]:
        """Return the tools in a range that fit best by words and meaning together, each relative to its best.

        There are `limit` of them, and those equal to the last. Also returns the highest similarity in meaning: 0 is
        nothing in common, 1 is the same.
        """
        numpy = self._embedding.numpy
        span = slice(among.start, among.stop)
        scores = numpy.array(by_words[span])
        # Not `@`, which may split even so small a job among processors and then wait for a busy one.
        similar = numpy.einsum("ij,j->i", self._vectors[span], self._embedding.encode([query])[0])
        similar = similar.clip(0.0, 1.0)
        nearest = float(similar.max())
        mixed = scores / (scores.max() or 1.0) + _SHARE * similar / (nearest or 1.0)
        mixed[(scores == 0) & (similar < _MIN_SIMILARITY)] = 0.0
        best = numpy.flatnonzero(mixed)
        if limit < len(best):
            best = best[mixed[best] >= numpy.partition(mixed[best], -limit)[-limit]]
        return dict(zip((best + among.start).tolist(), mixed[best].tolist(), strict=True)), nearest
