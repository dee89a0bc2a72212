"""What a program printed and showed, kept within the limits for the model and for the record."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halflap.sandbox.media import for_model

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["Output"]


class Output:
    """The output of one run. The text of a resource that was shown counts as output."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")
        self._printed: list[str] = []
        self._recorded: list[str] = []
        """The same, with a note where something was shown."""
        self._text_bytes = self._data_bytes = 0
        self._left_out: Counter[str] = Counter()
        """The number of blocks that were not shown, by the limit."""
        self.shown: list[dict[str, Any]] = []

    def write(self, data: bytes) -> bool:
        """Keep printed text, up to the limit; return False beyond it."""
        room = self._config.max_kept_output_bytes - self._text_bytes
        self._text_bytes += len(data)
        text = self._decoder.decode(data[: max(room, 0)])
        self._printed.append(text)
        self._recorded.append(text)
        return len(data) <= room

    def show(self, block: Mapping[str, Any]) -> bool:
        """Keep a content block for the model, within the limits; return False if it is not one."""
        try:
            cleaned = for_model(block)
        except ValueError:
            return False
        data = len(cleaned.get("data") or cleaned.get("resource", {}).get("blob") or "")
        text = _text_size(cleaned)
        needed = {
            "max_shown": len(self.shown) + 1,
            "max_shown_bytes": self._data_bytes + data,
            "max_kept_output_bytes": self._text_bytes + text,
        }
        for limit, size in needed.items():
            if size > getattr(self._config, limit):
                self._left_out[limit] += 1
                return True
        self._data_bytes += data
        self._text_bytes += text
        self.shown.append(cleaned)
        is_new_line = not self._recorded or self._recorded[-1].endswith("\n")
        self._recorded.append(("" if is_new_line else "\n") + _note(cleaned, data))
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
            f"({count:,} images, sounds or resources were not shown; the limit is `execution.{limit}`, "
            f"{getattr(self._config, limit):,})"
            for limit, count in self._left_out.items()
        ]
        return "\n".join([*lines, ""])

    def fit(self) -> tuple[str, Sequence[Mapping[str, Any]], int | None]:
        """Return what the model gets: printed text, cut at a character; blocks; and the size of all text if it was too much.

        Blocks whose text no longer fits are left out. Images and other data are not text.
        """
        encoded, most = self.text.encode(), self._config.max_output_bytes
        total = len(encoded) + sum(map(_text_size, self.shown))
        if total <= most:
            return self.text, self.shown, None
        room = max(most - len(encoded), 0)
        fitting = []
        for block in self.shown:
            if (size := _text_size(block)) <= room:
                fitting.append(block)
                room -= size
        return encoded[:most].decode(errors="ignore"), fitting, total


def _text_size(block: Mapping[str, Any]) -> int:
    """Return how many bytes of a block are text to a model."""
    if block["type"] in {"image", "audio"}:
        return 0
    source = block.get("resource", block)
    return sum(len(text.encode()) for key, text in source.items() if key not in {"type", "blob"})


def _note(block: Mapping[str, Any], data: int) -> str:
    source = block.get("resource", block)
    about = [block["type"], *(source[key] for key in ("uri", "name", "mimeType") if key in source)]
    size = f", {data * 3 // 4:,} bytes" if data else ""
    texts = [source[key] for key in ("title", "description", "text") if key in source]
    return "\n".join([f"[shown: {' '.join(about)}{size}]", *(text.removesuffix("\n") for text in texts), ""])
