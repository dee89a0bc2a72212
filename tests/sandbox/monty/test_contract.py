"""A program in monty finds what it finds in the jail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.sandbox.sandbox import Ending

    Play = Callable[..., tuple[Ending, Stage]]


def test_a_tool_is_an_async_function_with_keyword_arguments(play: Play) -> None:
    ending, stage = play("r = await mcp__shop__sales(region='north')\nprint(r['region'], r['totalRevenue'])")
    assert (ending.outcome, stage.text) == ("ok", "north 5\n")
    assert stage.called == [("mcp__shop__sales", {"region": "north"})]


def test_an_argument_without_a_name_is_refused_with_the_signature(play: Play) -> None:
    ending, stage = play("await mcp__shop__sales('north', 1)")
    assert ending.failure is not None
    assert ending.failure.type == "TypeError"
    assert "(region: str)" in ending.failure.message
    assert stage.called == []


@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "lambda: 1", "b'x'"])
def test_arguments_that_json_has_not_are_refused(play: Play, value: str) -> None:
    ending, stage = play(f"await mcp__shop__sales(region={value})")
    assert ending.failure is not None
    assert ending.failure.type == "TypeError"
    assert stage.called == []


def test_arguments_that_are_too_large_are_a_tool_error(play: Play) -> None:
    ending, stage = play("await mcp__shop__sales(region='x' * 9_000_000)")
    assert ending.failure is not None
    assert ending.failure.type == "ToolError"
    assert "execution.max_value_bytes" in ending.failure.message
    assert stage.called == []


def test_a_tool_error_is_none_of_pythons_own_errors(play: Play) -> None:
    ending, _ = play(
        "try:\n    await mcp__shop__broken()\nexcept (ValueError, RuntimeError, OSError, LookupError):\n    pass"
    )
    assert ending.failure is not None
    assert (ending.failure.type, ending.failure.message) == ("ToolError", "the shop is closed")
    assert ending.failure.traceback.endswith("\nToolError: the shop is closed\n")


def test_gathered_calls_run_at_the_same_time(play: Play) -> None:
    ending, stage = play(
        "import asyncio\nprint(await asyncio.gather(*(mcp__shop__together() for _ in range(5))))"
    )
    assert (ending.outcome, stage.text) == ("ok", f"{['done'] * 5}\n")
    assert stage.most_waiting == 5


def test_sleeps_are_real_and_overlap(play: Play) -> None:
    ending, stage = play(
        "import asyncio, time\n"
        "start = time.time()\n"
        "time.sleep(0.1)\n"
        "await asyncio.gather(*(asyncio.sleep(0.3) for _ in range(100)))\n"
        "print(0.4 <= time.time() - start < 30)"
    )
    assert (ending.outcome, stage.text) == ("ok", "True\n")


def test_media_are_shown_in_order_with_what_is_printed(play: Play) -> None:
    ending, stage = play("m = await mcp__shop__picture()\nprint('before')\nshow(m)\nprint('after')")
    assert ending.outcome == "ok"
    assert stage.shown == [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]
    assert stage.order == ["print", "show", "print"]


def test_show_prints_what_is_no_media(play: Play) -> None:
    _, stage = play("show(await mcp__shop__mixed())\nshow({'a': 1})\nshow('text')\nshow([1, 2])")
    assert len(stage.shown) == 1
    assert stage.text == "some text\n{'a': 1}\ntext\n[1, 2]\n"


def test_a_result_with_half_a_letter_does_not_end_the_program(play: Play) -> None:
    ending, stage = play("print((await mcp__shop__half_letter())['text'])")
    assert (ending.outcome, stage.text) == ("ok", "a?b\n")


def test_a_result_that_is_nested_too_deeply_is_a_tool_error(play: Play) -> None:
    class Deep(Stage):
        async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
            self.called.append((name, arguments))
            value: list[Any] = []
            for _ in range(5_000):
                value = [value]
            return value

    ending, _ = play("print(len(await mcp__shop__rows()))", stage=Deep())
    assert ending.failure is not None
    assert ending.failure.type == "ToolError"


def test_input_is_refused_with_what_to_do(play: Play) -> None:
    ending, _ = play("name = input('Who? ')")
    assert ending.failure is not None
    assert ending.failure.message.startswith("input() is not available")
    assert "line 1, in <module>\n    name = input" in ending.failure.traceback


def test_what_a_program_left_behind_no_other_finds(play: Play) -> None:
    play("secret = 'of the first'")
    ending, _ = play("print(secret)")
    assert ending.failure is not None
    assert ending.failure.unknown == "secret"
