"""Whether a workflow that changes all that are found finds all that are meant, and no others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.effects import name_words
from halflap.graph.speech import PREPOSITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.asking import Asked
    from halflap.graph.edge import Ports
    from halflap.graph.workflow import Task, Workflow

__all__ = ["lists_all"]

_PART = frozenset(
    {"top", "best", "worst", "recent", "latest", "last", "first", "popular", "trending", "random", "sample", "nearby",
     "nearest", "closest", "newest", "oldest", "upcoming", "next", "previous", "featured", "favorite", "favourite",
     "suggested", "recommended", "related", "similar", "active", "inactive", "open", "closed", "pending", "overdue",
     "unread", "cancelled", "canceled", "archived", "deleted", "completed", "failed", "hot", "new", "old", "late", "busy",
     "cheapest", "assigned", "shared", "starred", "some", "few", "biggest", "largest", "smallest", "today", "yesterday",
     "due", "expired", "duplicate", "orphaned", "unused", "idle", "private", "public", "draft", "unpaid", "paid"}
)  # fmt: skip
"""What says that only some are given."""
_PHRASE = re.compile(r"[,;:.(\n]")


def lists_all(workflow: Workflow, changing: Mapping[str, Asked]) -> bool:
    """Say whether all that are meant are found: no list of the best, and what says which is used to choose."""
    used = set(workflow.at_hand())
    for task in workflow.tasks:
        way = changing.get(task.ports.tool)
        if way is None:
            continue
        lists = _lists(workflow, task)
        if not lists:
            # It is done to what is at hand.
            continue
        said = frozenset().union(*(_says_which(one.ports) for one in lists))
        if not way.filters <= used or said - way.kinds or not way.kinds <= _all_words(lists):
            return False
    return True


def _lists(workflow: Workflow, task: Task) -> list[Task]:
    """Give the steps whose results say to what something is done."""
    steps = {*task.sources, *(axis.step for axis in task.axes if axis.step)}
    steps |= {axis.step for one in task.sources for axis in workflow.order[one].axes if axis.step}
    return [workflow.order[one] for one in sorted(steps)]


def _says_which(ports: Ports) -> frozenset[str]:
    """Give the words by which a tool says that it gives only some."""
    words = _PHRASE.split(ports.description.casefold().strip(), maxsplit=1)[0].split()
    begins = next((at for at, one in enumerate(words) if one in PREPOSITIONS), len(words))
    return _PART & {*name_words(ports), *words[:begins]}


def _all_words(lists: list[Task]) -> set[str]:
    return {word for one in lists for word in name_words(one.ports)}
