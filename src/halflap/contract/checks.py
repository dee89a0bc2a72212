"""Whether an answer keeps what it declares, looked at before it leaves: its schema, then the author's invariants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.contract.invariants import Breach, breach_of, path_text

if TYPE_CHECKING:
    from halflap.contract.invariants import Invariant

__all__ = ["Checks"]

_LONGEST_REASON = 500


class Checks:
    """The schema of an envelope, compiled, and the invariants of its data."""

    def __init__(self, schema: dict[str, Any], invariants: tuple[Invariant, ...]) -> None:
        # Loaded for whoever serves tools, not for whoever only reads the types.
        from jsonschema_rs import Draft202012Validator  # noqa: PLC0415

        # Each branch by itself: of a choice, it could only be said that none fits, and not where.
        self._branches = [
            Draft202012Validator(
                {**branch, "$defs": schema.get("$defs", {})},
                validate_formats=True,
                offline=True,
            )
            for branch in schema["oneOf"]
        ]
        self._invariants = invariants

    def breach_of(self, sent: dict[str, Any]) -> Breach | None:
        """Give the first place at which an answer is not what was promised, if there is one."""
        compiled = self._branches[0 if sent["success"] else 1]
        if not compiled.is_valid(sent):
            error = next(iter(compiled.iter_errors(sent)))
            return Breach(path_text(_innermost(error)), error.message[:_LONGEST_REASON])
        return breach_of(sent["data"], self._invariants) if sent["success"] and self._invariants else None


def _innermost(error: Any) -> list[str | int]:
    """Give where the mistake is: within a choice, the place that all alternatives but null speak of."""
    path: list[str | int] = list(error.instance_path)
    context = getattr(error.kind, "context", None)
    if not context:
        return path
    inside = [[_innermost(one) for one in branch] for branch in context]
    deeper = [paths[0] for paths in inside if paths and len(paths[0]) > len(path)]
    return deeper[0] if len(deeper) == 1 else path
