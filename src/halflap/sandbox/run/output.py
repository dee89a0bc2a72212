"""What a program printed and showed, kept within the limits for the model and for the record."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.sandbox.media import for_model

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["Output"]


class Output:
    """The output of one run."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")
        self._printed: list[str] = []
        self._recorded: list[str] = []
        """The same, with a note where something was shown."""
        self._printed_bytes = self._shown_bytes = 0
        self._left_out: Counter[str] = Counter()
        """The number of blocks that were not shown, by the limit."""
        self.shown: list[Mapping[str, str]] = []
        """Content blocks for the model."""

    def write(self, data: bytes) -> bool:
        """Keep printed text, up to the limit; return False beyond it."""
        room = self._config.max_kept_output_bytes - self._printed_bytes
        self._printed_bytes += len(data)
        text = self._decoder.decode(data[: max(room, 0)])
        self._printed.append(text)
        self._recorded.append(text)
        return len(data) <= room

    def show(self, block: Mapping[str, Any]) -> bool:
        """Keep an image or a sound for the model, within the limits; return False if it is neither."""
        try:
            cleaned = for_model(block)
        except ValueError:
            return False
        size = len(cleaned["data"])
        needed = {"max_shown": len(self.shown) + 1, "max_shown_bytes": self._shown_bytes + size}
        for limit, count in needed.items():
            if count > getattr(self._config, limit):
                self._left_out[limit] += 1
                return True
        self._shown_bytes += size
        self.shown.append(cleaned)
        is_new_line = not self._recorded or self._recorded[-1].endswith("\n")
        note = f"[shown: {cleaned['type']} {cleaned['mimeType']}, {size * 3 // 4:,} bytes]\n"
        self._recorded.append(note if is_new_line else f"\n{note}")
        return True

    @property
    def text(self) -> str:
        """Everything printed, with a note about what was not shown."""
        return self._with_note("".join(self._printed))

    @property
    def recorded(self) -> str:
        """The same, with notes where something was shown."""
        return self._with_note("".join(self._recorded))

    def _with_note(self, text: str) -> str:
        if not self._left_out:
            return text
        lines = [text.removesuffix("\n")] if text else []
        lines += [
            f"({count:,} images or sounds were not shown; the limit is `execution.{limit}`, "
            f"{getattr(self._config, limit):,})"
            for limit, count in self._left_out.items()
        ]
        return "\n".join([*lines, ""])

    def fit(self) -> tuple[str, int | None]:
        """Return the text for the model, cut at a character if it is too much, and then the size of all of it."""
        encoded, most = self.text.encode(), self._config.max_output_bytes
        if len(encoded) <= most:
            return self.text, None
        return encoded[:most].decode(errors="ignore"), len(encoded)
