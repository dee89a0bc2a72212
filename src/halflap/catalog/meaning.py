"""Texts as vectors, so that search finds what is meant and not only what is written; an optional extra."""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.catalog.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Meaning"]

logger = logging.getLogger(__name__)

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_LONGEST_TEXT = 2_000

_SHARE = 0.5
"""What meaning counts beside words; between 0.3 and 0.7 it makes no difference."""
_LEAST = 0.3
"""How near a text must be that has no word in common. Most nonsense is nowhere nearer to anything."""


class Meaning:
    """A static embedding: the mean of the vectors of a text's pieces. Knows no order of words, takes no time.

    The files come with the package wordllama. Its own loader is not used: that one reaches for the network.
    """

    def __init__(self, numpy: Any, vectors: Any, tokenizer: Any) -> None:
        self.numpy = numpy
        self._vectors = vectors
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> Meaning | None:
        """Read the files, which takes a moment; None where `halflap[semantic]` is not installed."""
        spec = find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(spec.submodule_search_locations[0])
        try:
            numpy = import_module("numpy")
            (vectors,) = import_module("safetensors.numpy").load_file(folder / _WEIGHTS).values()
            tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # noqa: BLE001  # three foreign libraries; search goes on without them
            logger.warning(
                "Search goes by words alone: the files of `halflap[semantic]` cannot be read: %s", error
            )
            return None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(numpy, vectors, tokenizer)

    def encode(self, texts: Sequence[str]) -> Any:
        """Give one row for each text: a unit vector, or zeros for a text that says nothing."""
        numpy = self.numpy
        split = [words(text[:_LONGEST_TEXT], wholes=False) for text in texts]
        # Texts share most of their words: each is taken into pieces once.
        known = {word: number for number, word in enumerate({word: None for text in split for word in text})}
        of_words = self._sums(self._vectors, [self._pieces(word) for word in known])
        rows = self._sums(of_words, [[known[word] for word in text] for text in split])
        # Sums serve as well as means: all rows get the same length.
        lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
        return rows / numpy.where(lengths == 0, 1, lengths)

    def _pieces(self, word: str) -> list[int]:
        last = len(self._vectors) - 1
        return [min(piece, last) for piece in self._tokenizer.encode(word, add_special_tokens=False).ids]

    def _sums(self, vectors: Any, groups: Sequence[Sequence[int]]) -> Any:
        """Add up the vectors of each group."""
        numpy = self.numpy
        rows = numpy.zeros((len(groups), vectors.shape[1]), dtype=numpy.float32)
        for row, group in zip(rows, groups, strict=True):
            # One after the other stays in the processor's cache; all at once would not, and takes longer.
            if group:
                vectors.take(group, axis=0).sum(axis=0, dtype=numpy.float32, out=row)
        return rows

    def mix(
        self, by_words: Any, encoded: Any, query: str, among: Sequence[int] | None, limit: int
    ) -> tuple[dict[int, float], float]:
        """Mix how texts fit by words with how near they are in meaning, each in proportion to its best.

        Gives the best `limit`, of all or of those `among` which to choose (more if some are equally good), and how
        near the nearest is: 0 is nothing in common, 1 is the same.
        """
        numpy = self.numpy
        if among is not None:
            by_words, encoded = by_words[among], encoded[among]
        # Not `@`: that may share so small a job among processors, and then waits for one that is busy.
        near = numpy.einsum("ij,j->i", encoded, self.encode([query])[0]).clip(0.0, 1.0)
        nearest = float(near.max())
        mixed = by_words / (by_words.max() or 1.0) + _SHARE * near / (nearest or 1.0)
        # What has no word in common must at least be near: something is always the nearest.
        mixed[(by_words == 0) & (near < _LEAST)] = 0.0
        best = numpy.flatnonzero(mixed)
        if limit < len(best):
            best = best[mixed[best] >= numpy.partition(mixed[best], -limit)[-limit]]
        numbers = best if among is None else numpy.asarray(among)[best]
        return dict(zip(numbers.tolist(), mixed[best].tolist(), strict=True)), nearest
