from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import Config, LmConfig, ProgramsConfig, trust_project_file
from halflap.errors import ConfigError

if TYPE_CHECKING:
    from config.conftest import Desk

MODEL = "openai/gpt-4o-mini"


def programs(environ: dict[str, str] | None = None, **section: Any) -> ProgramsConfig:
    return Config.from_mapping(
        {"programs": section}, Path("/there"), environ=environ or {"HOME": "/home/ann"}
    ).programs


def test_without_a_section_there_are_the_shipped_programs_and_no_model() -> None:
    assert Config().programs == ProgramsConfig(
        root=None, watch=False, timeout_seconds=60.0, cache=None, lm=None
    )


def test_a_section_is_read() -> None:
    environ = {"HOME": "/home/ann", "KEY": "s3cret", "HOST": "localhost"}
    lm = {
        "model": MODEL,
        "api_base": "http://${HOST}:8080/v1",
        "api_key": "${KEY}",
        "timeout": 5,
        "temperature": 0,
        "max_tokens": 200,
        "adapter": "json",
    }
    read = programs(environ, root="~/dspy", watch=True, timeout_seconds=1.5, cache="kept", lm=lm)
    assert (read.root, read.cache) == (Path("/home/ann/dspy"), Path("/there/kept"))
    assert (read.watch, read.timeout_seconds) == (True, 1.5)
    assert read.lm == LmConfig(MODEL, "http://localhost:8080/v1", "s3cret", 5.0, 0.0, 200, "json")


@pytest.mark.parametrize("off", ["off", False])
def test_the_cache_can_be_off(off: object) -> None:
    assert programs(cache=off).cache == "off"


def test_of_a_model_only_its_name_has_to_be_there() -> None:
    assert programs(lm={"model": MODEL}).lm == LmConfig(MODEL)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"root": 5}, "programs.root must be a string, not a number"),
        ({"cache": True}, "programs.cache must be the path of a folder, or off, not true"),
        ({"timeout_seconds": 0}, "programs.timeout_seconds must be a number greater than 0, not 0"),
        ({"timeout": 5}, "unknown key `timeout` in `programs`. Did you mean `timeout_seconds`?"),
        ({"lm": MODEL}, f"Write `lm:` and below it, indented, `model: {MODEL}`."),
        ({"lm": {}}, "programs.lm has no `model`. Name one as DSPy does"),
        (
            {"lm": {"model": "gpt-4o-mini"}},
            "Write the provider before it, as DSPy does: `openai/gpt-4o-mini`",
        ),
        (
            {"lm": {"model": MODEL, "key": "x"}},
            "unknown key `key` in `programs.lm`. There are: model, api_base",
        ),
        ({"lm": {"model": MODEL, "timeout": "5"}}, "programs.lm.timeout must be a number greater than 0"),
        ({"lm": {"model": MODEL, "adapter": "xml"}}, "programs.lm.adapter must be chat or json"),
        ({"lm": {"model": MODEL, "api_base": "localhost:80"}}, "programs.lm.api_base must be a URL"),
        ({"lm": {"model": MODEL, "api_base": "http://a:b@host/"}}, "without user or password"),
        ({"lm": {"model": MODEL, "api_base": "http://host:99999/"}}, "programs.lm.api_base must be a URL"),
        ({"lm": {"model": MODEL, "api_key": "${NO_KEY}"}}, "the environment variable `NO_KEY` is not set"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write(section: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        programs(**section)
    assert told in str(caught.value)


def test_a_key_is_never_shown() -> None:
    lm = programs(lm={"model": MODEL, "api_base": "http://host/s3cret", "api_key": "s3cret"}).lm
    assert "s3cret" not in repr(lm)
    with pytest.raises(ConfigError) as caught:
        programs(lm={"model": MODEL, "api_key": ["s3cret"], "api_base": "s3cret"})
    assert "s3cret" not in str(caught.value)


def test_a_project_file_cannot_say_where_programs_are_or_whom_they_ask(desk: Desk) -> None:
    file = desk.project("programs:\n  lm: {model: openai/x, api_base: http://elsewhere/}\n")
    trust_project_file(file, desk.environ)
    assert [one.code for one in desk.problems()] == ["config-project-key"]
