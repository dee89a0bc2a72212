"""Whether the steps of a live DSPy module stay as they were made while it runs: a manifest has them as they are. Imports DSPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.dspy.flow import line_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import CodeType

    from halflap.dspy.units import Unit

__all__ = ["Steadiness"]


@dataclass(frozen=True, slots=True)
class _Made:
    """What one predictor of DSPy's asks with, besides its inputs."""

    predict: Any
    demos: Any
    held: tuple[Any, ...]
    """The demos themselves, since a list of them can be changed in place."""
    said: Any
    """The same as plain values, since a demo can, too."""
    signature: Any
    instructions: str
    fields: Any

    @classmethod
    def of(cls, predict: Any) -> _Made:
        signature, demos = predict.signature, predict.demos
        fields = [
            (name, one.annotation, dict(one.json_schema_extra or {}), one.default)
            for name, one in signature.fields.items()
        ]
        said = predict.dump_state()["demos"]
        return cls(predict, demos, tuple(demos), said, signature, signature.instructions, fields)

    def changed(self, now: _Made) -> set[str]:
        """Name what is another now; what was put there anew is, even if it is equal this time."""
        if now.predict is not self.predict:
            return {"predict"}
        found = set()
        if now.demos is not self.demos or now.said != self.said:
            found.add("demos")
        if now.instructions != self.instructions:
            found.add("instructions")
        elif now.signature is not self.signature or now.fields != self.fields:
            found.add("signature")
        return found

    def restore(self) -> None:
        if isinstance(self.demos, list):
            self.demos[:] = self.held
        self.predict.demos = self.demos
        self.predict.signature = self.signature


class Steadiness:
    """Compares steps with what they were before a run, and puts them back."""

    def __init__(self, units: Mapping[int, Unit]) -> None:
        self._units = units
        self._before = {key: _predicts(unit) for key, unit in units.items()}
        self._changed: dict[str, set[str]] = {}

    def look(self, key: int) -> None:
        """Note how a step differs by now."""
        now = _predicts(self._units[key])
        before = self._before[key]
        changed = {
            part
            for name, made in before.items()
            for part in (made.changed(now[name]) if name in now else {"predict"})
        }
        if changed:
            self._changed.setdefault(self._units[key].predictor.name, set()).update(changed)

    def settle(self, ran: Collection[CodeType]) -> list[str]:
        """Look at all steps once more, put them back, and say what was changed, with the line where the code that ran shows it."""
        for key in self._units:
            self.look(key)
            for made in self._before[key].values():
                made.restore()
        told = []
        for name, parts in self._changed.items():
            # Instructions are changed by themselves, or with the signature that they are in.
            line = line_of(ran, {*parts, "signature"} if "instructions" in parts else parts)
            told.append(
                f"{'' if line is None else f'line {line}: '}the {' and the '.join(sorted(parts))} of `{name}` "
                f"{'is' if parts <= {'signature', 'predict'} else 'are'} changed while it runs: a manifest has one "
                "signature, with its instructions, and one list of demos for each step. Set them before, where the module is made."
            )
        return told


def _predicts(unit: Unit) -> dict[str, _Made]:
    return {name: _Made.of(one) for name, one in unit.module.named_predictors()}
