"""What a resumed run takes from the record of its calls, and what it refuses to repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.calls import MARK
from halflap.core.errors import WorkflowError
from halflap.store import SENT, CallRecord
from halflap.workflows.model.form import read_net
from halflap.workflows.run.journal import Journal
from workflows.tooled import net, task

NET = read_net(net(task("a", idempotent=False), flows="i>a a>o"))


def recorded(outcome: str, text: str = "fine", **more: Any) -> CallRecord:
    result = {"content": [{"type": "text", "text": text}]}
    known: dict[str, Any] = {"arguments": json.dumps({"what": "a"}), "result": json.dumps(result), **more}
    return CallRecord(
        "0" * 28 + "#0.1", "run", None, "local", "counting", "say", "hash", 1.0, 1.0, outcome, 0, 0, **known
    )


@pytest.mark.parametrize(
    "record",
    [recorded("ok", f"the key is {MARK}"), recorded("ok", result_cut=True), recorded(SENT, result=None), recorded("tool_error")],
    ids=["redacted", "cut", "unanswered", "failed"],
)  # fmt: skip
def test_what_is_not_known_to_be_repeatable_is_not_repeated_unasked(record: CallRecord) -> None:
    with pytest.raises(WorkflowError) as refused:
        Journal("run", NET, [record]).begin((), ())
    assert [one.path for one in refused.value.problems] == ["tasks[0].idempotent"]
    Journal("run", NET, [record]).begin(("a",), ())


@pytest.mark.parametrize("outcome", ["invalid-arguments", "sign-in-needed"])
def test_a_call_that_was_never_sent_is_simply_made(outcome: str) -> None:
    Journal("run", NET, [recorded(outcome, result=None)]).begin((), ())
