"""Texts that are looked at like all others, and of which nothing is kept: secrets, where values are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halflap.learn.limits import DEEPEST
from halflap.learn.names import TAG_KEYS, is_tag_value

__all__ = ["Unkept", "with_unkept"]


class Unkept(str):
    """A text whose kind and format count. As a key it is data; at its place no value is kept, nor ever was one."""

    __slots__ = ()


def with_unkept(value: Any, redacted: Any, level: int = 0) -> Any:
    """Give a value in which the texts are unkept that are others once redacted.

    What is observed of it is what it is: what stands in place of a secret is of another form, and nothing that is
    returned later is equal to it. Words under tag keys stay: they are kept whether values are or not.
    """
    if level > DEEPEST:
        # Nothing there is looked at.
        return value
    if isinstance(value, str):
        return value if value == redacted else Unkept(value)
    if isinstance(value, Mapping):
        return {
            key if key == name else Unkept(key): member
            if key in TAG_KEYS and is_tag_value(member)
            else with_unkept(member, inner, level + 1)
            for (key, member), (name, inner) in zip(value.items(), redacted.items(), strict=True)
        }
    if isinstance(value, list | tuple):
        return [with_unkept(one, other, level + 1) for one, other in zip(value, redacted, strict=True)]
    return value
