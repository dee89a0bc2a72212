"""The folder of DSPy programs, one JSON file each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from halflap.core.errors import ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.folder import ToolFolder
from halflap.dspy.spec import ProgramSpec, read_spec, write_spec

_BUNDLED = Path(__file__).parent / "bundled"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class SavedProgram:
    """A DSPy program as read from its file."""

    spec: ProgramSpec
    source_hash: str
    loaded_at: str = field(default_factory=_now, compare=False)

    @property
    def name(self) -> str:
        return self.spec.name

    def definition(self) -> dict[str, Any]:
        """Return the program as a tool."""
        spec = self.spec
        # A program with tools may change something through them; each of those calls is checked separately.
        hints = {} if spec.tools else {"readOnlyHint": True}
        return {
            "name": spec.name,
            "description": spec.description or spec.predictors[0].instructions,
            "inputSchema": spec.input_schema,
            "outputSchema": spec.output_schema,
            "annotations": {**hints, "destructiveHint": False, "openWorldHint": True},
        }

    def summary(self) -> dict[str, Any]:
        """Return an entry of `dspy_list_programs`."""
        return self._facts(
            "name", "version", "predictor_count", "optimizer", "validation_score", "serialized_at"
        )

    def info(self) -> dict[str, Any]:
        """Return the answer of `dspy_get_program_info`."""
        return self._facts(
            "name", "version", "dspy_version", "source_hash", "optimizer", "validation_score", "serialized_at",
            "loaded_at", "predictors",
        )  # fmt: skip

    def reloaded(self) -> dict[str, Any]:
        """Return the answer of `dspy_reload_program`."""
        return {"status": "reloaded", **self._facts("name", "source_hash", "predictor_count", "loaded_at")}

    def _facts(self, *names: str) -> dict[str, Any]:
        spec = self.spec
        facts = {
            **spec.model_dump(exclude={"predictors", "wiring", "state"}),
            "source_hash": self.source_hash,
            "loaded_at": self.loaded_at,
            "predictor_count": len(spec.predictors),
            "predictors": [
                {
                    "name": predictor.name,
                    "input_fields": [field.name for field in predictor.inputs],
                    "output_fields": [field.name for field in predictor.outputs],
                    "few_shot_example_count": sum(
                        len(spec.state[key].demos) for key in predictor.signatures if key in spec.state
                    ),
                }
                for predictor in spec.predictors
            ],
        }
        return {name: facts[name] for name in names}


class Library(ToolFolder[SavedProgram]):
    """The saved programs; without a folder, those that come with Halflap, which cannot be changed."""

    suffix = ".json"
    most_bytes = 4_194_304

    def __init__(self, root: Path | None) -> None:
        super().__init__(root or _BUNDLED)

    def parse(self, name: str, data: bytes) -> SavedProgram:
        return SavedProgram(read_spec(data, name), sha256(data).hexdigest())

    def check_new(self, name: str, *, force: bool) -> None:
        if self.path == _BUNDLED:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        super().check_new(name, force=force)

    def find(self, name: str) -> SavedProgram:
        saved = self.read()
        if name in saved.broken:
            raise ProgramBrokenError(name, saved.broken[name].split("\n"))
        if name not in saved.valid:
            raise ProgramNotFoundError(name, list(saved.valid))
        return saved.valid[name]

    def save(self, spec: ProgramSpec, *, force: bool = False) -> SavedProgram:
        return self.write(spec.name, write_spec(spec), force=force)
