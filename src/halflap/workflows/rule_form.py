"""Rules in the JSON form: read with all problems at once, and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.workflows.fields import Reader, meant
from halflap.workflows.net import RULE_KINDS, Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["placed_rules", "read_rules", "write_rule"]

_PAIR = ("tasks",)
_RULE_KEYS: dict[str, tuple[str, ...]] = {
    "precedence": ("first", "then"),
    "response": ("first", "then"),
    "exclusion": _PAIR,
    "separation_of_duties": _PAIR,
    "required": ("task",),
}


def read_rules(
    reader: Reader, fields: Mapping[str, Any], path: str, known: Collection[str]
) -> tuple[Rule, ...]:
    """Read the rules; what names none of the known nodes is a problem."""
    return tuple(rule for _, rule in placed_rules(reader, fields, path, known))


def placed_rules(
    reader: Reader,
    fields: Mapping[str, Any],
    path: str,
    known: Collection[str] | None,
    tasks: Collection[str] | None = None,
) -> Iterator[tuple[int, Rule]]:
    """Give the rules that could be read with their numbers; where `known` is None, nobody knows which nodes there are.

    Of `tasks`, if they are given, one may have been meant.
    """
    near = known if tasks is None else tasks
    for at, value in enumerate(reader.list(fields, "rules", path)):
        rule = _rule(reader, value, f"{path}.rules[{at}]" if path else f"rules[{at}]", known, near or ())
        if rule is not None:
            yield at, rule


def _rule(
    reader: Reader, value: Any, at: str, known: Collection[str] | None, near: Collection[str]
) -> Rule | None:
    if not isinstance(value, dict):
        reader.object(value, at, set())
        return None
    kind = reader.choice(value, "kind", at, tuple(RULE_KINDS), None)
    if kind is None:
        if "kind" not in value:
            reader.add(f"{at}.kind", f"It is missing. It is one of {', '.join(RULE_KINDS)}.")
        return None
    keys = _RULE_KEYS[kind]
    one = reader.object(value, at, {"kind", *keys}, needed=keys)
    tasks = (
        reader.texts(one, "tasks", at)
        if keys == _PAIR
        else tuple(text for key in keys if (text := reader.text(one, key, at)))
    )
    for task in tasks if known is not None else ():
        if known is not None and task not in known:
            key = next((key for key in keys if one.get(key) == task), keys[-1])
            reader.add(f"{at}.{key}", f"There is no task {task!r}.{meant(task, near)}")
    return Rule(kind, tasks)


def write_rule(rule: Rule) -> dict[str, Any]:
    """Write a rule as JSON."""
    keys = _RULE_KEYS[rule.kind]
    if keys == _PAIR:
        return {"kind": rule.kind, "tasks": list(rule.tasks)}
    return {"kind": rule.kind, **dict(zip(keys, rule.tasks, strict=True))}
