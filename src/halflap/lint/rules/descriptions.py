"""Rules about descriptions of tools, parameters and fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.lint.rule import Limits, Problem, Rule
from halflap.lint.rules.quantities import is_measurement

if TYPE_CHECKING:
    from halflap.lint.server import LintServer


def _no_description(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        if not tool.tool.description.strip():
            yield Problem(
                tool,
                "",
                f"{tool.shown} has no description.",
                f"Describe in a sentence or two what {tool.shown} does and when to use it.",
            )


def _description_too_long(server: LintServer, limits: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        size = len(tool.tool.description.encode(errors="replace"))
        if size > limits.description_bytes:
            yield Problem(
                tool,
                "",
                f"The description of {tool.shown} has {size:,} bytes; more than {limits.description_bytes:,} cost tokens in "
                "every session.",
                "Shorten it, and move details about parameters into the schema.",
            )


def _parameter_without_description(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for field in tool.inputs:
            # A description may list the parameters; naming one there counts as describing it.
            described = field.description or field.name in tool.tool.description
            if len(field.keys) == 1 and not described:
                yield Problem(
                    tool,
                    field.where,
                    f"The parameter {field.shown} of {tool.shown} has no description.",
                    f"Add a `description` to {field.where}.",
                )


def _field_without_description(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for field in tool.declared_outputs:
            if not field.description and not is_measurement(field):
                yield Problem(
                    tool,
                    field.where,
                    f"The field {field.shown} that {tool.shown} returns has no description.",
                    f"Add a `description` to {field.where}.",
                )


RULES = (
    Rule("no-description", "warning", _no_description, weight=2),
    Rule("description-too-long", "warning", _description_too_long),
    Rule("parameter-without-description", "warning", _parameter_without_description, weight=0.5),
    Rule("field-without-description", "info", _field_without_description),
)
