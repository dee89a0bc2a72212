"""Completes the wiring of a DSPy program: what the manifest does not say is wired by equal names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.dspy.documents import said, within
from halflap.dspy.fields import check_output
from halflap.dspy.parts import INPUTS, Field, Predictor, Wiring, outputs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.dspy.documents import Problems

__all__ = ["Wired", "complete"]

_SOURCE = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\.([A-Za-z][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Wired:
    """What a program takes and gives, and where everything comes from."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    wiring: Wiring


def complete(
    predictors: Sequence[Predictor],
    inputs: Sequence[Field] | None,
    outputs: Sequence[Field] | None,
    wiring: Any,
    problems: Problems,
) -> Wired:
    """Wire every field, or note which cannot be.

    A field that the manifest does not wire is filled by the input of the program that has its name, else by the latest
    predictor before it that gives one of its name. Inputs that the manifest does not list are those that no predictor
    supplies; outputs that it does not list are those that it wires, else those of the last predictor.
    """
    joiner = _Joiner(predictors, problems)
    said_of_predictors, said_of_outputs = joiner.read(wiring)
    taken = joiner.derived_inputs(said_of_predictors) if inputs is None else tuple(inputs)
    wired = joiner.join(taken, said_of_predictors)
    if inputs is not None:
        joiner.find_unused(taken, wired)
    given, sources = joiner.join_outputs(outputs, said_of_outputs)
    return Wired(taken, given, Wiring(wired, sources))


@dataclass(slots=True)
class _Joiner:
    predictors: Sequence[Predictor]
    problems: Problems
    offered: dict[str, dict[str, Field]] = field(init=False)

    def __post_init__(self) -> None:
        self.offered = {one.name: outputs_of(one) for one in self.predictors}

    def read(self, wiring: Any) -> tuple[dict[str, dict[str, str | None]], dict[str, str]]:
        """Give what the manifest wires, less what is no wiring; None is for what is left to its default."""
        if not isinstance(wiring, Mapping):
            self.problems.wrong("wiring", "an object with predictors and outputs", wiring)
            return {}, {}
        self.problems.keys(wiring, "wiring", ("predictors", "outputs"), ())
        by_predictor = wiring.get("predictors", {})
        if not isinstance(by_predictor, Mapping):
            self.problems.wrong("wiring.predictors", "an object with the names of predictors", by_predictor)
            by_predictor = {}
        found: dict[str, dict[str, str | None]] = {}
        names = [one.name for one in self.predictors]
        for name, fields in by_predictor.items():
            path = within("wiring.predictors", name)
            if name not in names:
                self.problems.add(f"{path}: there is no predictor of that name.")
            else:
                left = (
                    [key for key, source in fields.items() if source is None]
                    if isinstance(fields, Mapping)
                    else []
                )
                others = {key: one for key, one in fields.items() if one is not None} if left else fields
                found[name] = {**self._texts(others, path), **dict.fromkeys(left)}
        return found, self._texts(wiring.get("outputs", {}), "wiring.outputs")

    def _texts(self, fields: Any, path: str) -> dict[str, str]:
        if not isinstance(fields, Mapping):
            self.problems.wrong(path, "an object with the names of fields", fields)
            return {}
        for name, source in fields.items():
            if not isinstance(source, str) or not _SOURCE.fullmatch(source):
                self.problems.wrong(
                    within(path, name),
                    "where it comes from, as inputs.<field> or <predictor>.<field>",
                    source,
                )
        return {
            name: source
            for name, source in fields.items()
            if isinstance(source, str) and _SOURCE.fullmatch(source)
        }

    def derived_inputs(self, wired: Mapping[str, Mapping[str, str | None]]) -> tuple[Field, ...]:
        """Give what somebody outside has to supply."""
        needed: dict[str, Field] = {}
        earlier: set[str] = set()
        for predictor in self.predictors:
            for one in predictor.inputs:
                told = wired.get(predictor.name, {})
                source = told.get(one.name)
                if one.name in told and source is None:
                    continue
                if source is None:
                    name = None if one.name in earlier and one.name not in needed else one.name
                else:
                    owner, _, wanted = source.partition(".")
                    name = wanted if owner == INPUTS else None
                if name is None:
                    continue
                known = needed.setdefault(name, replace(one, name=name))
                if known.schema != one.schema:
                    self.problems.add(
                        f'inputs: "{name}" is taken with two different schemas. List the inputs of the program, or wire '
                        "one of them to another field."
                    )
            earlier.update(self.offered[predictor.name])
        return tuple(needed.values())

    def join(
        self, inputs: Sequence[Field], wired: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, dict[str, str]]:
        """Give the source of each input of each predictor, unless that is left to its default."""
        sources: dict[str, dict[str, Field]] = {INPUTS: {one.name: one for one in inputs}}
        joined: dict[str, dict[str, str]] = {}
        for predictor in self.predictors:
            path = within("wiring.predictors", predictor.name)
            told = wired.get(predictor.name, {})
            names = {one.name for one in predictor.inputs}
            for name in told:
                if name not in names:
                    self.problems.add(f'{within(path, name)}: "{predictor.name}" has no such input.')
            joined[predictor.name] = {}
            for one in predictor.inputs:
                source = told[one.name] if one.name in told else _by_name(one.name, sources)
                if source is None and "default" in one.schema:
                    continue
                if source is None and one.name in told:
                    self.problems.add(
                        f"{within(path, one.name)}: null leaves it to its default, and it has none."
                    )
                elif source is None:
                    self.problems.add(
                        f"{within(path, one.name)}: nothing supplies it: neither an input of the program nor an "
                        "earlier predictor has its name."
                    )
                elif self._fits(source, sources, one, within(path, one.name)):
                    joined[predictor.name][one.name] = source
            sources[predictor.name] = self.offered[predictor.name]
        return joined

    def _fits(
        self, source: str, sources: Mapping[str, Mapping[str, Field]], target: Field, path: str
    ) -> bool:
        owner, _, name = source.partition(".")
        if owner not in sources:
            later = owner in self.offered
            why = "does not run before it" if later else "is neither inputs nor a predictor"
            self.problems.add(f"{path} is {said(source)}, and {said(owner)} {why}.")
            return False
        found = sources[owner].get(name)
        if found is None:
            there = ", ".join(sources[owner]) or "none"
            self.problems.add(
                f"{path} is {said(source)}, and {said(owner)} has no such field. There are: {there}."
            )
            return False
        if not _can_be(found.schema, target.schema):
            self.problems.add(
                f"{path} is {said(source)}, which is never of the type that is taken there: "
                f"{said(found.schema.get('type'))} instead of {said(target.schema.get('type'))}."
            )
            return False
        return True

    def find_unused(self, inputs: Sequence[Field], wired: Mapping[str, Mapping[str, str]]) -> None:
        used = {source for fields in wired.values() for source in fields.values()}
        for at, one in enumerate(inputs):
            if f"{INPUTS}.{one.name}" not in used:
                self.problems.add(f'{within("inputs", at)}: no predictor takes "{one.name}".')

    def join_outputs(
        self, outputs: Sequence[Field] | None, wired: Mapping[str, str]
    ) -> tuple[tuple[Field, ...], dict[str, str]]:
        """Give the outputs of the program, and the source of each."""
        if outputs is None and not wired:
            last = self.predictors[-1]
            return last.outputs, {one.name: f"{last.name}.{one.name}" for one in last.outputs}
        if outputs is None:
            for name in wired:
                check_output(name, within("wiring.outputs", name), self.problems)
            fields = [self._output(name, source) for name, source in wired.items()]
        else:
            fields = list(outputs)
            names = {one.name for one in fields}
            for name in wired:
                if name not in names:
                    self.problems.add(f"{within('wiring.outputs', name)}: the program has no such output.")
        joined: dict[str, str] = {}
        for one in fields:
            path = within("wiring.outputs", one.name)
            source = wired.get(one.name) or _by_name(one.name, self.offered)
            if source is None:
                self.problems.add(f"{path}: nothing supplies it: no predictor has an output of its name.")
            elif self._fits(source, self.offered, one, path):
                joined[one.name] = source
        return tuple(fields), joined

    def _output(self, name: str, source: str) -> Field:
        owner, _, wanted = source.partition(".")
        found = self.offered.get(owner, {}).get(wanted)
        return Field(name) if found is None else replace(found, name=name)


def _by_name(name: str, sources: Mapping[str, Mapping[str, Field]]) -> str | None:
    """Give what supplies a field of this name: an input of the program first, then the latest predictor."""
    if name in sources.get(INPUTS, {}):
        return f"{INPUTS}.{name}"
    owners = [owner for owner, fields in sources.items() if name in fields]
    return f"{owners[-1]}.{name}" if owners else None


def _can_be(source: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Say whether a value of one schema can be of the other; whatever it is, DSPy can write it as a text."""
    given, taken = _types(source), _types(target)
    if not given or not taken or "string" in taken:
        return True
    return bool(given & taken)


def _types(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    found = set(kinds if isinstance(kinds, list) else [kinds])
    # Every integer is a number, and a number may be one.
    return found | {"integer", "number"} if found & {"integer", "number"} else found
