from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from cli.program import PLAIN, at_once, configure, halflap, in_terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
"""It takes long, and runs with `make test-all`."""

DOUBLE = 'async def main(number: int) -> int:\n    """Double a number."""\n    return await mcp__plain__add(a=number, b=number)\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    configure(tmp_path, PLAIN, tools={"block": ["script__blocked"]}, ttl={"list_seconds": 100_000})
    (tmp_path / "config" / "config.json").write_text((tmp_path / "halflap-test.json").read_text())
    (tmp_path / "double.py").write_text(DOUBLE)
    return tmp_path


def put(place: Path, **scripts: str) -> Path:
    folder = place / "data" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in scripts.items():
        (folder / f"{name}.py").write_text(code)
    return folder


def test_a_script_is_saved_listed_shown_called_and_removed(place: Path) -> None:
    saved = halflap("scripts", "save", "double", "double.py", home=place)
    assert (saved.code, saved.out, saved.err) == (
        0,
        "",
        "Saved: script__double(number: integer) -> integer\n",
    )
    file = place / "data" / "scripts" / "double.py"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    runs = at_once(
        {
            "list": ("scripts",),
            "show": ("scripts", "show", "double"),
            "call": ("call", "script__double", "--arg", "number=4"),
            "inspect": ("inspect", "script__double", "--compact"),
            "tools": ("list", "--server", "script"),
            "again": ("scripts", "save", "double", "double.py"),
        },
        place,
    )
    assert runs["list"].out == "script__double(number: integer) -> integer\n      Double a number.\n"
    assert runs["show"].out == DOUBLE
    assert runs["call"].out == '{"result": 8}\n'
    assert runs["inspect"].out == "script__double(number: integer) -> integer\n"
    assert runs["tools"].out == "script__double\tDouble a number.\n"
    assert (runs["again"].code, "--force replaces it" in runs["again"].err) == (2, True)
    removed = halflap("scripts", "remove", "double", "--yes", home=place)
    assert (removed.code, removed.err) == (0, "Removed: double\n")
    assert not file.exists()


def test_saving_over_a_script_changes_it_without_a_warning(place: Path) -> None:
    put(place, double="def main(): ...")
    halflap("scripts", home=place)
    saved = halflap("scripts", "save", "double", "double.py", "--force", home=place)
    assert (saved.code, saved.err) == (0, "Saved: script__double(number: integer) -> integer\n")
    assert "changed" not in halflap("list", "--json", home=place).json[-1]


def test_what_is_broken_is_listed_with_its_reason_beside_the_others(place: Path) -> None:
    folder = put(place, good=DOUBLE, syntax="x = (", blocked=DOUBLE, hidden='"""No\x1b[31mthing\u202e."""')
    (folder / "passwords.py").symlink_to("/etc/passwd")
    runs = at_once({"text": ("scripts",), "json": ("scripts", "--json"), "tools": ("list",)}, place)
    assert runs["text"].code == 0
    assert runs["text"].out.splitlines() == [
        "script__blocked(number: integer) -> integer",
        "      [blocked] Double a number.",
        "script__good(number: integer) -> integer",
        "      Double a number.",
        "script__hidden()",
        "      Nothing.",
        "passwords",
        "      [broken] it is a symbolic link. Give the file that it leads to.",
        "syntax",
        "      [broken] line 1: it is not Python: '(' was never closed.",
    ]
    rows = {row["name"]: row for row in runs["json"].json}
    assert rows["good"]["inputSchema"]["required"] == ["number"]
    assert rows["syntax"] == {"name": "syntax", "broken": "line 1: it is not Python: '(' was never closed."}
    assert "root:" not in runs["json"].out
    assert "script__good" in runs["tools"].out
    assert "Script 'syntax' cannot be used: line 1" in runs["tools"].err


def test_what_cannot_be_saved_exits_with_2_and_says_why(place: Path) -> None:
    (place / "link.py").symlink_to("double.py")
    (place / "huge.py").write_text("#" * 300_000)
    (place / "latin.py").write_bytes(b"a = '\xe4'")
    (place / "syntax.py").write_text("\nx = (")
    runs = at_once(
        {
            "link.py: it is a symbolic link.": ("scripts", "save", "a", "link.py"),
            "huge.py: it is larger than 262,144 bytes.": ("scripts", "save", "a", "huge.py"),
            "latin.py: line 1: it is not UTF-8 text.": ("scripts", "save", "a", "latin.py"),
            "syntax.py: line 2: it is not Python": ("scripts", "save", "a", "syntax.py"),
            "nothing.py: it cannot be read": ("scripts", "save", "a", "nothing.py"),
            "'../a' cannot be the name of a script": ("scripts", "save", "../a", "double.py"),
            "'Weekly' cannot be the name": ("scripts", "save", "Weekly", "double.py"),
            "There is no script named 'a'. There are: none.": ("scripts", "show", "a"),
            "There is no script named '../double'": ("scripts", "remove", "../double", "--yes"),
        },
        place,
    )
    for message, done in runs.items():
        assert (done.code, done.out) == (2, ""), message
        assert message in done.err
    assert (place / "double.py").exists()
    assert not (place / "data" / "scripts").exists()


def test_a_mistake_has_the_shape_of_any_other_in_json(place: Path) -> None:
    done = halflap("scripts", "show", "a", "--json", home=place)
    assert (done.code, done.json["code"]) == (2, "script-not-found")


def test_a_program_is_saved_from_stdin(place: Path) -> None:
    done = halflap("scripts", "save", "a", "-", "--json", home=place, stdin=DOUBLE.encode())
    assert done.json["tool"] == "script__a"


def test_removing_is_asked_about(place: Path) -> None:
    file = put(place, a=DOUBLE) / "a.py"
    quiet = halflap("scripts", "remove", "a", home=place)
    assert (quiet.code, "nobody to ask" in quiet.err) == (2, True)
    no = in_terminal("scripts", "remove", "a", home=place, answers={"Remove the script a?": "n\n"})
    assert (no.code, file.exists()) == (1, True)
    yes = in_terminal("scripts", "remove", "a", home=place, answers={"Remove the script a?": "y\n"})
    assert (yes.code, file.exists()) == (0, False)


def test_what_is_broken_can_be_removed(place: Path) -> None:
    folder = put(place)
    (folder / "link.py").symlink_to(place / "double.py")
    assert halflap("scripts", "remove", "link", "--yes", home=place).code == 0
    assert (place / "double.py").exists()
    assert not list(folder.iterdir())


def test_a_terminal_shows_what_is_hidden_in_a_script(place: Path) -> None:
    put(place, a="x = '\u200b\u202e'\n\tif '\x1b[31m'")
    assert halflap("scripts", "show", "a", home=place).code == 2
    put(place, a="if 1:\n\tx = '\u200b\u202e\x1b[31m'")
    assert in_terminal("scripts", "show", "a", home=place).out == (
        "if 1:\n        x = '\\u200b\\u202e\\u001b[31m'\n"
    )


def test_the_names_of_scripts_are_completed(place: Path) -> None:
    put(place, double=DOUBLE, dozen="print(12)", broken="x = (")
    for words in ("halflap run do", "halflap scripts show do", "halflap scripts remove do"):
        count = str(len(words.split(" ")) - 1)
        done = halflap(home=place, COMP_WORDS=words, COMP_CWORD=count, _HALFLAP_COMPLETE="complete_bash")
        assert done.out.split() == ["double", "dozen"], words
        assert not done.err


def test_nothing_saved_is_said_to_be_so(place: Path) -> None:
    done = halflap("scripts", home=place)
    assert (done.code, done.out) == (0, "")
    assert "halflap scripts save NAME FILE" in done.err
