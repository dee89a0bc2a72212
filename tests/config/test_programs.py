"""The section `programs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import Config, LmConfig, ProgramsConfig, trust_project_file
from halflap.core.errors import ConfigError

if TYPE_CHECKING:
    from config.conftest import Desk

MODEL = "openai/gpt-4o-mini"


def programs(environ: dict[str, str] | None = None, **section: Any) -> ProgramsConfig:
    return Config.from_mapping(
        {"programs": section}, Path("/there"), environ=environ or {"HOME": "/home/ann"}
    ).programs


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
    assert read.lm == LmConfig(
        model=MODEL,
        api_base="http://localhost:8080/v1",
        api_key="s3cret",
        timeout=5.0,
        temperature=0.0,
        max_tokens=200,
        adapter="json",
    )


@pytest.mark.parametrize("off", ["off", False])
def test_the_cache_can_be_off(off: object) -> None:
    assert programs(cache=off).cache == "off"


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ({"root": 5}, "wrong-value"),
        ({"cache": True}, "wrong-value"),
        ({"timeout_seconds": 0}, "wrong-value"),
        ({"timeout": 5}, "unknown-key"),
        ({"lm": MODEL}, "wrong-value"),
        ({"lm": {}}, "wrong-value"),
        ({"lm": {"model": "gpt-4o-mini"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "key": "x"}}, "unknown-key"),
        ({"lm": {"model": MODEL, "timeout": "5"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "adapter": "xml"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "api_base": "localhost:80"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "api_base": "http://a:b@host/"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "api_base": "http://host:99999/"}}, "wrong-value"),
        ({"lm": {"model": MODEL, "api_key": "${NO_KEY}"}}, "variable"),
    ],
)
def test_a_wrong_setting_has_its_code(section: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        programs(**section)
    assert [one.code for one in caught.value.problems] == [f"config-{code}"]


def test_a_key_is_never_shown() -> None:
    lm = programs(lm={"model": MODEL, "api_base": "http://host/s3cret", "api_key": "s3cret"}).lm
    assert "s3cret" not in repr(lm)
    with pytest.raises(ConfigError) as caught:
        programs(lm={"model": MODEL, "api_key": ["s3cret"], "api_base": "s3cret"})
    assert "s3cret" not in str(caught.value)


def test_a_project_file_cannot_configure_programs(desk: Desk) -> None:
    file = desk.project("programs:\n  lm: {model: openai/x, api_base: http://elsewhere/}\n")
    trust_project_file(file, desk.environ)
    assert [one.code for one in desk.problems()] == ["config-project-key"]
