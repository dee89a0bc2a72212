"""Every step of the demo holds on a real run, and fails when what it shows does not hold."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from halflap.cli.demo import story
from halflap.cli.demo.built import Built
from halflap.cli.demo.composed import Counted, Feeds, Learned, Suggested
from halflap.cli.demo.known import Connected, Inspected, Searched
from halflap.cli.demo.playing import play
from halflap.cli.demo.programs import Guessed, Ran, Refused
from halflap.cli.demo.stage import Stage
from halflap.cli.demo.step import DemoError, Step, UnmetError
from halflap.config import Config
from halflap.demo import demo_config
from halflap.sandbox.check.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
NEW = (story.SEARCH_DOCS, story.GET_DOC)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One real run, over real servers."""
    config = replace(Config.from_mapping(demo_config()), data_dir=tmp_path_factory.mktemp("store"))
    stage = Stage(quiet=True)
    asyncio.run(play(config, stage))
    return stage


def test_the_steps_are_those_of_the_story(stage: Stage) -> None:
    assert tuple(step.scene for step in stage.steps) == story.SCENES
    assert list(stage.told) == [scene.name for scene in story.SCENES]


def test_the_story_is_json(stage: Stage) -> None:
    assert json.loads(json.dumps(stage.told)) == stage.told


@pytest.mark.parametrize("width", [40, 100])
def test_a_drawing_fits_the_terminal(stage: Stage, width: int) -> None:
    written = io.StringIO()
    console = Console(file=written, width=width, highlight=False, markup=False)
    for step in stage.steps:
        for one in step.draw():
            console.print(one)
    assert max(map(len, written.getvalue().splitlines())) <= width
    assert "".join(written.getvalue().split()).count("doc_id") > 3


def _finding(line: int) -> Finding:
    return Finding("unknown-key", line, 1, 2, "", "'id' is not in it")


def _other_status(ran: Ran) -> Ran:
    """Have the record say that one order more was cancelled."""
    at = next(at for at, one in enumerate(ran.calls) if one.name == story.ORDER_HISTORY)
    other = replace(ran.calls[at], text=ran.calls[at].text.replace('"delivered"', '"cancelled"', 1))
    return replace(ran, calls=[*ran.calls[:at], other, *ran.calls[at + 1 :]])


def _without_key(learned: Learned) -> Learned:
    assert learned.schema is not None
    items = {**learned.schema["items"], "properties": {"title": {"type": "string"}}, "required": ["title"]}
    return replace(learned, schema={**learned.schema, "items": items})


def _unseen(feeds: Feeds) -> Feeds:
    def bare(link: Any) -> Any:
        return replace(link, evidence=tuple(one for one in link.evidence if one.kind != "lineage"))

    return replace(feeds, edges=[replace(one, links=tuple(map(bare, one.links))) for one in feeds.edges])


def _said(step: Any, **changes: Any) -> Any:
    return replace(step, suggestion={**step.suggestion, **changes})


def _linted(step: Built, server: str, **changes: Any) -> Built:
    return replace(step, reports={**step.reports, server: replace(step.reports[server], **changes)})


def _undeclared(step: Built) -> Built:
    """Take away what the server declares, and leave what names say."""

    def bare(link: Any) -> Any:
        return replace(link, evidence=tuple(one for one in link.evidence if one.kind != "declared"))

    return replace(step, edges=[replace(one, links=tuple(map(bare, one.links))) for one in step.edges])


def _failed(step: Built) -> Any:
    """Let one of the answers be an error."""
    answers = [{"success": False, "error": {"code": "TIMEOUT"}}, *step.answers[1:]]
    return _outcome(step, output=json.dumps(answers))


def _outcome(step: Any, **changes: Any) -> Any:
    return replace(step, execution=replace(step.execution, **changes))


SPOILT: list[tuple[type[Step], Callable[[Any], Step]]] = [
    (
        Connected,
        lambda one: replace(one, servers=[replace(one.servers[0], state="failed", reason="it is ill")]),
    ),
    (Searched, lambda one: replace(one, found={})),
    (Inspected, lambda one: replace(one, missing=[])),
    (Refused, lambda one: replace(one, checked=replace(one.checked, mistakes=one.checked.mistakes[1:]))),
    (Refused, lambda one: _outcome(one, outcome="ok")),
    (Ran, lambda one: _outcome(one, output=one.execution.output.replace("Acme", "Ajax"))),
    (Ran, _other_status),
    (Learned, lambda one: replace(one, observations=2)),
    (Learned, _without_key),
    (Guessed, lambda one: replace(one, checked=replace(one.checked, doubts=[_finding(2)]))),
    (Feeds, lambda one: replace(one, before=one.before | {NEW})),
    (Feeds, lambda one: replace(one, edges=[edge for edge in one.edges if edge.source != story.SEARCH_DOCS])),
    (Feeds, _unseen),
    (Suggested, lambda one: _said(one, tools=[story.GET_DOC])),
    (Suggested, lambda one: replace(one, calls=[])),
    (Suggested, lambda one: replace(one, after=one.before)),
    (Built, lambda one: _linted(one, "contract_sales", score=20.0)),
    (Built, _undeclared),
    (Built, lambda one: _said(one, tools=[story.KIT_CONTACTS])),
    (Built, _failed),
    (Counted, lambda one: replace(one, definitions=0)),
    (Counted, lambda one: replace(one, runs={"it": (10, 11)})),
]


@pytest.mark.parametrize(("kind", "spoil"), SPOILT)
def test_a_step_fails_when_what_it_shows_does_not_hold(
    stage: Stage, kind: type[Step], spoil: Callable[[Any], Step]
) -> None:
    (step,) = [one for one in stage.steps if isinstance(one, kind)]
    step.check()
    with pytest.raises(UnmetError):
        spoil(step).check()


def test_every_step_is_tested() -> None:
    assert {kind.scene for kind, _ in SPOILT} == set(story.SCENES)


def test_a_failed_step_is_named_and_not_shown(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    (step,) = [one for one in stage.steps if isinstance(one, Learned)]

    async def take() -> Learned:
        return replace(step, observations=7)

    with pytest.raises(DemoError, match=story.LEARN.title):
        asyncio.run(Stage().show(Learned, take))
    out = capsys.readouterr().out
    assert story.LEARN.title in out
    assert "always" not in out
