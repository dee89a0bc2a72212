"""Every step of the demo holds on a real run, and fails when what it would show is not so."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

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
from halflap.errors import SandboxError
from halflap.execution.check.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

S = TypeVar("S", bound=Step)
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


def test_what_was_shown_can_be_written_as_json(stage: Stage) -> None:
    assert json.loads(json.dumps(stage.told)) == stage.told


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_that_is_drawn_is_wider_than_the_terminal(stage: Stage, width: int) -> None:
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


def _past_the_envelope(step: Built) -> Built:
    """Let one more way begin beside the data."""
    edge = step.edges[-1]
    link = replace(edge.links[0], source=edge.links[0].source[1:])
    return replace(step, edges=[*step.edges, replace(edge, target="another", links=(link,))])


def _failed(step: Built) -> Any:
    """Let one of the answers be an error."""
    answers = [{"success": False, "error": {"code": "TIMEOUT"}}, *step.answers[1:]]
    return _outcome(step, output=json.dumps(answers))


def _outcome(step: Any, **changes: Any) -> Any:
    return replace(step, execution=replace(step.execution, **changes))


SPOILT: list[tuple[type[Step], Callable[[Any], Step], str]] = [
    (
        Connected,
        lambda one: replace(one, servers=[replace(one.servers[0], state="failed", reason="it is ill")]),
        "'financial_data' to be ready, came it is failed: it is ill",
    ),
    (Connected, lambda one: replace(one, tools=one.tools[1:]), "9 tools to be listed, came 8"),
    (
        Connected,
        lambda one: replace(one, tools=["x", *one.tools[1:]]),
        f"{story.GET_DOC} among the tools",
    ),
    (
        Searched,
        lambda one: replace(one, found={asked: hits[::-1] for asked, hits in one.found.items()}),
        "to be found first",
    ),
    (Searched, lambda one: replace(one, found={}), "came nothing"),
    (Inspected, lambda one: replace(one, declared={"outputSchema": None}), "to declare what it returns"),
    (
        Inspected,
        lambda one: replace(one, undeclared={**one.undeclared, "observedSchema": {}}),
        "came observedSchema is",
    ),
    (Inspected, lambda one: replace(one, edges=one.edges | {NEW}), "nothing to be known that"),
    (Inspected, lambda one: replace(one, missing=[]), "it lacks nothing"),
    (
        Refused,
        lambda one: replace(one, checked=replace(one.checked, mistakes=one.checked.mistakes[1:])),
        "unknown-tool in line 3",
    ),
    (
        Refused,
        lambda one: replace(one, checked=replace(one.checked, mistakes=(), skipped="no time")),
        "no check: no time",
    ),
    (
        Refused,
        lambda one: replace(one, checked=replace(one.checked, doubts=[_finding(story.GUESS_LINE)])),
        "nothing to be known of the guess",
    ),
    (Refused, lambda one: _outcome(one, outcome="ok"), "to be refused, came it is ok"),
    (Refused, lambda one: replace(one, calls=2), "2 calls on record"),
    (Ran, lambda one: _outcome(one, outcome="error", text="it failed"), "came it failed"),
    (Ran, lambda one: _outcome(one, output=one.execution.output.replace("Acme", "Ajax")), "Ajax Corp"),
    (Ran, _other_status, "what the recorded results say"),
    (
        Ran,
        lambda one: replace(one, calls=[call for call in one.calls if call.server == "sales"]),
        "calls on two servers, came sales",
    ),
    (Ran, lambda one: replace(one, calls=one.calls[1:]), "customers with orders"),
    (Learned, lambda one: replace(one, schema=None), "to rest on the 3 results"),
    (Learned, lambda one: replace(one, observations=2), "2 were observed"),
    (Learned, lambda one: replace(one, confidence=1.0), "to be sure to a degree"),
    (Learned, lambda one: replace(one, values=[*one.values[1:], [{"title": 3}]]), "every result to fit"),
    (Learned, _without_key, "doc_id to be learned, came title"),
    (Guessed, lambda one: replace(one, checked=replace(one.checked, doubts=[])), "the check to doubt 'id'"),
    (
        Guessed,
        lambda one: replace(one, checked=replace(one.checked, doubts=[_finding(2)])),
        "to name 'doc_id'",
    ),
    (Guessed, lambda one: _outcome(one, text="KeyError: 'id'"), "the failed run to doubt 'id'"),
    (Guessed, lambda one: _outcome(one, outcome="ok"), "to fail by its guess"),
    (Feeds, lambda one: replace(one, before=one.before | {NEW}), "it fed it before"),
    (
        Feeds,
        lambda one: replace(one, edges=[edge for edge in one.edges if edge.source != story.SEARCH_DOCS]),
        "it does not feed it",
    ),
    (Feeds, _unseen, "only declared, name speaks for it"),
    (Suggested, lambda one: replace(one, suggestion=None), "to be suggested, came none"),
    (Suggested, lambda one: _said(one, tools=[story.GET_DOC]), f"came {story.GET_DOC}"),
    (Suggested, lambda one: _said(one, missing=[{"parameter": "doc_id"}]), "nothing to be missing"),
    (Suggested, lambda one: _outcome(one, outcome="error", text="it failed"), "came it failed"),
    (Suggested, lambda one: _outcome(one, output="[]"), "came none"),
    (Suggested, lambda one: replace(one, calls=[]), "documents to be found"),
    (Suggested, lambda one: replace(one, after=one.before), "to be surer than"),
    (Built, lambda one: replace(one, unavailable={"contract_sales": "it ended"}), "ready, came it ended"),
    (
        Built,
        lambda one: replace(one, reports={"doc_retrieval": one.reports["doc_retrieval"]}),
        "two servers to be judged, came doc_retrieval",
    ),
    (
        Built,
        lambda one: _linted(one, "contract_sales", findings=one.reports["doc_retrieval"].findings),
        "came search_docs does not declare what it returns.",
    ),
    (Built, lambda one: _linted(one, "contract_sales", score=20.0), "came 20 and "),
    (Built, lambda one: _linted(one, "doc_retrieval", fixes=()), "would help doc_retrieval, came nothing"),
    (Built, lambda one: replace(one, calls_before=1), "before any call, came 1 calls"),
    (
        Built,
        lambda one: replace(one, returns={**one.returns, story.KIT_CONTACTS: ""}),
        f"to say what it returns, came {story.KIT_CONTACTS}",
    ),
    (Built, lambda one: replace(one, returns={}), "came no tool"),
    (
        Built,
        lambda one: replace(one, edges=[edge for edge in one.edges if edge.target != story.KIT_CONTACTS]),
        "came no such edge",
    ),
    (Built, _undeclared, "to be declared, came only name"),
    (Built, _past_the_envelope, "in the data of the envelope"),
    (Built, lambda one: replace(one, suggestion=None), "to be suggested, came none"),
    (Built, lambda one: _said(one, tools=[story.KIT_CONTACTS]), f"came {story.KIT_CONTACTS}"),
    (Built, lambda one: _said(one, missing=[{"parameter": "stage"}]), "nothing to be missing, came stage"),
    (Built, lambda one: _outcome(one, outcome="error", text="it failed"), "came it failed"),
    (Built, lambda one: replace(one, calls=[]), "opportunities in negotiation to be found"),
    (Built, _failed, "the contacts of OPP-003, OPP-007, OPP-011, came OPP-007, OPP-011"),
    (Counted, lambda one: replace(one, definitions=0), "something to count"),
    (Counted, lambda one: replace(one, runs={"it": (10, 0)}), "to have told something"),
    (Counted, lambda one: replace(one, runs={"it": (10, 11)}), "more than 11 tokens of results"),
]


@pytest.mark.parametrize(
    ("kind", "spoil", "said"),
    SPOILT,
    ids=[f"{kind.__name__}: {said}" for kind, _, said in SPOILT],
)
def test_a_step_fails_when_what_it_shows_is_not_so(
    stage: Stage, kind: type[Step], spoil: Callable[[Any], Step], said: str
) -> None:
    (step,) = [one for one in stage.steps if isinstance(one, kind)]
    step.check()
    with pytest.raises(UnmetError) as caught:
        spoil(step).check()
    assert said in str(caught.value)


def test_every_step_is_spoilt_in_some_way() -> None:
    assert {kind.scene for kind, _, _ in SPOILT} == set(story.SCENES)


def shown(kind: type[S], step: S | Exception) -> None:
    async def take() -> S:
        if isinstance(step, Exception):
            raise step
        return step

    asyncio.run(Stage().show(kind, take))


def test_what_does_not_hold_is_not_shown(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    (step,) = [one for one in stage.steps if isinstance(one, Learned)]
    with pytest.raises(DemoError, match="step 6 of 11, “What came back is learned”"):
        shown(Learned, replace(step, observations=7))
    out = capsys.readouterr().out
    assert story.LEARN.title in out
    assert "always" not in out


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SandboxError("Programs cannot run here. Install something."), "Programs cannot run here. Install"),
        (KeyError("orders"), "Came: KeyError: 'orders'"),
        (ValueError("no JSON"), "Came: ValueError: no JSON"),
    ],
)
def test_whatever_goes_wrong_is_told_with_the_step(error: Exception, said: str) -> None:
    with pytest.raises(DemoError) as caught:
        shown(Ran, error)
    assert "The demo failed at step 5 of 11" in str(caught.value)
    assert said in str(caught.value)


def test_without_a_tokenizer_bytes_are_counted_and_said_to_be(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("halflap.cli.demo.composed.count_tokens", lambda _: None)
    (ran,) = [one for one in stage.steps if isinstance(one, Ran)]
    (suggested,) = [one for one in stage.steps if isinstance(one, Suggested)]

    async def count() -> Counted:
        from halflap.gateway import Gateway  # noqa: PLC0415 -- one test alone needs it

        config = replace(Config.from_mapping({"servers": []}), data_dir=tmp_path)
        async with Gateway.open(config) as gateway:
            return await Counted.take(gateway, ran, suggested)

    counted = asyncio.run(count())
    assert counted.unit == "bytes"
    results, came = counted.runs["the program"]
    assert results == len("\n".join(one.text for one in ran.calls).encode())
    assert came == len(ran.execution.text.encode())
