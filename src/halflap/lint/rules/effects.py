"""Rules about annotations that tell clients what a tool does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.graph.effects import name_reads
from halflap.graph.naming import subject_of
from halflap.lint.rule import Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.lint.server import LintServer


def _read_only_not_annotated(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        reads = name_reads(tool.tool.original_name, tool.tool.description)
        if reads and tool.tool.annotations.read_only is None:
            yield Problem(
                tool,
                "",
                f"{tool.shown} seems to only read, but is not annotated as read-only.",
                f'Add `"annotations": {{"readOnlyHint": true}}` to {tool.shown} if it changes nothing.',
            )


def _destructive_not_annotated(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        hints = tool.tool.annotations
        unsaid = hints.destructive is None and hints.read_only is not True
        if unsaid and subject_of(tool.tool.original_name).destroys:
            yield Problem(
                tool,
                "",
                f"{tool.shown} seems to destroy something, but is not annotated.",
                f'Add `"annotations": {{"destructiveHint": true}}` to {tool.shown}, so that clients ask first.',
            )


def _annotation_contradicts_name(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        if tool.tool.annotations.read_only and subject_of(tool.tool.original_name).destroys:
            yield Problem(
                tool,
                "",
                f"{tool.shown} is annotated as read-only, but its name says that it destroys something.",
                "Correct the annotation, or rename the tool.",
            )


RULES = (
    Rule("read-only-not-annotated", "info", _read_only_not_annotated),
    Rule("destructive-not-annotated", "warning", _destructive_not_annotated),
    Rule("annotation-contradicts-name", "warning", _annotation_contradicts_name),
)
