from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN, Asked, configure, halflap, in_terminal
from support import some

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.program import Done

CONFIG = ("-c", "halflap-test.json")
FILES = {
    "lines.py": "print('one')\nprint('two', end='')",
    "add.py": "async def main(a: int, b: int = 2, note: str = '') -> int:\n    print('adding', note)\n    return await mcp__plain__add(a=a, b=b)\n",
    "itself.py": "import asyncio\nasync def main():\n    print('once')\nasync def other(): ...\nawait main()",
    "starred.py": "import asyncio\nasync def main(*names):\n    print(names)\nif __name__ == '__main__':\n    asyncio.run(main('a'))",
    "needs.py": "def main(limit: int):\n    print(limit)\nif __name__ == '__main__':\n    main(3)",
    "data.py": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\ndef main(p: P = P()):\n    print(p.x)\nif __name__ == '__main__':\n    main()",
    "status.py": "import sys\ndef main() -> int:\n    print('done')\n    return 0\nif __name__ == '__main__':\n    sys.exit(main())",
    "fails.py": "await mcp__plain__echo(text='x')\nprint('so far')\nraise ValueError('no')",
    "escapes.py": "print('\\x1b[31mred')",
    "broken.py": "def main(\n    a: bytes,\n): ...",
    "destroys.py": "print(await mcp__plain__echo(text='gone'))",
    "shows.py": "for part in await mcp__plain__image():\n    show(part)",
    "exits.py": "import sys\nsys.exit('enough')",
    "folder": "print('a file without an ending')",
}
SETTINGS: dict[str, Any] = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo", "script__purge"]},
}
RUNS: dict[str, tuple[str, ...]] = {
    "lines": ("lines.py",),
    "link": ("link.py",),
    "without ending": ("folder",),
    "file with arguments": ("add.py", "--arg", "a=40", "--arg", "note=40"),
    "itself": ("./itself.py",),
    "starred": ("starred.py",),
    "needs": ("needs.py",),
    "data": ("data.py",),
    "status": ("status.py",),
    "saved by its tool's name": ("script__add", "--arg", "a=40"),
    "saved --json": ("add", "--arg", "a=40", "--json"),
    "fails": ("fails.py", "--yes"),
    "fails --json": ("fails.py", "--yes", "--json"),
    "escapes": ("escapes.py",),
    "exits": ("exits.py",),
    "shows": ("shows.py",),
    "destroys": ("destroys.py",),
    "destroys --yes": ("destroys.py", "--yes"),
    "purge": ("purge",),
    "purge --yes": ("purge", "--yes"),
}
MISTAKES: dict[str, tuple[str, ...]] = {
    "a: missing; expected integer": ("add.py",),
    'a: expected integer, received "x"': ("add.py", "-a", "a=x", "-a", "c=1"),
    "a: no such key; there are none": ("lines.py", "-a", "a=1"),
    "It takes no arguments: it calls main() by itself, in line 4": ("needs.py", "-a", "limit=1"),
    "The arguments do not fit 'script__add'; nothing was sent.": ("add", "--arg", "a=x"),
    "broken.py: line 2: the annotation `bytes` of the parameter 'a' cannot be used.": ("broken.py",),
    "nothing.py: it cannot be read: No such file or directory.": ("nothing.py",),
    "There is no script named 'ad'. There are: add, purge.": ("ad",),
    "There is no script named '..'.": ("..",),
    "Only one of the program and its arguments": ("-", "--json-args", "-"),
    "Missing argument 'FILE_OR_NAME'": (),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("running")
    for name, code in FILES.items():
        (home / name).write_text(code)
    (home / "link.py").symlink_to("lines.py")
    configure(home, PLAIN, **SETTINGS, ttl={"list_seconds": 100_000})
    scripts = home / "data" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "add.py").write_text(FILES["add.py"])
    (scripts / "purge.py").write_text("def main():\n    return 'purged'")
    assert halflap("list", *CONFIG, home=home).code == 0
    return home


def jobs(place: Path, runs: dict[str, tuple[str, ...]]) -> dict[str, Callable[[], Done]]:
    return {name: partial(halflap, "run", *CONFIG, *words, home=place) for name, words in runs.items()}


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    stdin = partial(halflap, "run", *CONFIG, "-", home=place, stdin=b"print(6 * 7)")
    return Asked({**jobs(place, RUNS), "stdin": stdin})


@pytest.fixture(scope="module")
def mistaken(place: Path) -> dict[str, Done]:
    no_text = partial(halflap, "run", *CONFIG, "-", home=place, stdin=b"\n\xff")
    return Asked({**jobs(place, MISTAKES), "stdin: line 2: it is not UTF-8 text.": no_text})


@pytest.mark.parametrize(
    ("name", "printed"),
    some(
        [
            ("lines", "one\ntwo\n"),
            ("link", "one\ntwo\n"),
            ("without ending", "a file without an ending\n"),
            ("stdin", "42\n"),
            ("itself", "once\n"),
            ("starred", "('a',)\n"),
            ("needs", "3\n"),
            ("data", "1\n"),
            ("status", "done\n"),
            ("file with arguments", "adding 40\n42\n"),
            ("saved by its tool's name", "adding \n42\n"),
            ("escapes", "\x1b[31mred\n"),
            ("destroys --yes", "gone\n"),
            ("purge --yes", '"purged"\n'),
            ("shows", "one pixel\n"),
        ],
        every=2,
    ),
)
def test_what_was_printed_comes_as_it_is_and_then_the_value(
    done: dict[str, Done], name: str, printed: str
) -> None:
    assert (done[name].code, done[name].out) == (0, printed)


@pytest.mark.parametrize("message", some([*MISTAKES, "stdin: line 2: it is not UTF-8 text."], every=2))
def test_a_mistake_exits_with_2_and_says_what_was_wrong(mistaken: dict[str, Done], message: str) -> None:
    done = mistaken[message]
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_program_that_fails_exits_with_1_and_says_how_on_stderr(done: dict[str, Done]) -> None:
    failed = done["fails"]
    assert (failed.code, failed.out) == (1, "so far\n")
    assert "ValueError: no" in failed.err
    assert "1. mcp__plain__echo — ok" in failed.err
    assert (done["exits"].code, done["exits"].err.splitlines()[:2]) == (1, ["Error [run-failed]:", "enough"])


def test_an_image_is_named(done: dict[str, Done]) -> None:
    assert "[image image/png, not shown here]" in done["shows"].err


def test_json_has_all_that_there_is_to_say(done: dict[str, Done]) -> None:
    saved, failed = done["saved --json"].json, done["fails --json"].json
    assert (saved["outcome"], saved["output"], saved["value"], saved["error"]) == (
        "ok",
        "adding \n",
        42,
        None,
    )
    assert [(call["tool"], call["outcome"]) for call in saved["calls"]] == [("mcp__plain__add", "ok")]
    assert saved["run"]
    assert saved["duration_ms"] > 0
    assert done["fails --json"].code == 1
    assert (failed["outcome"], failed["output"], failed["value"]) == ("failed", "so far\n", None)
    assert failed["error"].endswith("ValueError: no")


def test_without_a_terminal_what_destroys_is_refused_with_the_reason(done: dict[str, Done]) -> None:
    assert done["destroys"].code == 1
    assert "there is no terminal to ask on; --yes confirms" in done["destroys"].err
    assert done["purge"].code == 1
    assert "'script__purge' destroys something and was not run: there is no terminal" in done["purge"].err


@pytest.mark.parametrize(("answer", "code", "seen"), [("y\n", 0, "gone"), ("n\n", 1, "It was not run.")])
def test_on_a_terminal_the_person_is_asked_and_sees_which_tools(
    place: Path, answer: str, code: int, seen: str
) -> None:
    done = in_terminal("run", *CONFIG, "destroys.py", home=place, answers={"May it?": answer})
    assert "mcp__plain__echo: Return the text that was given." in done.out
    assert (done.code, seen in done.out) == (code, True)


def test_a_terminal_does_not_obey_what_a_program_prints(place: Path) -> None:
    done = in_terminal("run", *CONFIG, "escapes.py", home=place)
    assert "\x1b[31m" not in done.out
    assert "red" in done.out


@pytest.mark.parametrize("name", some([*RUNS, "stdin"], every=5))
def test_no_run_shows_a_traceback_of_ours(done: dict[str, Done], name: str) -> None:
    assert "halflap/" not in done[name].err


def test_the_arguments_may_come_from_stdin(place: Path) -> None:
    given = json.dumps({"a": 1}).encode()
    assert halflap("run", *CONFIG, "add", "--json-args", "-", home=place, stdin=given).out == "adding \n3\n"
