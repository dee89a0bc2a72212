"""A DSPy program that is held: since when, what there is to tell of it, and as which tool it is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from halflap.core.values import DSPY, Listing
from halflap.dspy.parts import signatures_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from halflap.dspy.library import Stored

__all__ = ["Loaded", "listing", "tools_of"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A DSPy program that is held, and since when."""

    stored: Stored
    loaded_at: datetime

    def described(self) -> dict[str, Any]:
        """Say in short what it is: one of the `programs` of `dspy_list_programs`."""
        manifest = self.stored.manifest
        return {
            "name": manifest.name,
            "version": manifest.version,
            "predictor_count": len(manifest.predictors),
            "optimizer": manifest.optimizer,
            "validation_score": manifest.validation_score,
            "serialized_at": manifest.serialized_at,
        }

    def told(self) -> dict[str, Any]:
        """Say all of it: what `dspy_get_program_info` answers."""
        manifest, demos = self.stored.manifest, self.stored.state.predictors
        return {
            "name": manifest.name,
            "version": manifest.version,
            "dspy_version": manifest.dspy_version,
            "source_hash": self.stored.source_hash,
            "optimizer": manifest.optimizer,
            "validation_score": manifest.validation_score,
            "serialized_at": manifest.serialized_at,
            "loaded_at": _moment(self.loaded_at),
            "predictors": [
                {
                    "name": one.name,
                    "input_fields": [taken.name for taken in one.inputs],
                    "output_fields": [given.name for given in one.outputs],
                    "few_shot_example_count": sum(
                        len(demos[key].demos) for key in signatures_of(one) if key in demos
                    ),
                }
                for one in manifest.predictors
            ],
        }

    def reloaded(self) -> dict[str, Any]:
        """Say that it was loaded anew: what `dspy_reload_program` answers."""
        return {
            "status": "reloaded",
            "name": self.stored.name,
            "source_hash": self.stored.source_hash,
            "predictor_count": len(self.stored.manifest.predictors),
            "loaded_at": _moment(self.loaded_at),
        }

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it may call."""
        return tools_of(self.stored)

    @property
    def still(self) -> str:
        """Say, after what is wrong with its folder, that this one goes on."""
        version = self.stored.manifest.version
        return f" Version {version}, loaded at {_moment(self.loaded_at)}, stays in use."


def tools_of(stored: Stored) -> tuple[str, ...]:
    """Give the tools that a program may call, each once."""
    return tuple(dict.fromkeys(tool for one in stored.manifest.predictors for tool in one.tools))


def listing(held: Mapping[str, Loaded]) -> Listing:
    """Write programs as the definitions of tools."""
    return Listing(DSPY, tuple(_as_tool(one.stored) for one in held.values()))


def _as_tool(stored: Stored) -> dict[str, Any]:
    """Write one so. What it calls is known, and so is what it cannot change."""
    manifest = stored.manifest
    return {
        "name": manifest.name,
        "description": manifest.description,
        "inputSchema": manifest.input_schema,
        "outputSchema": manifest.output_schema,
        "annotations": {
            # Of one that calls tools it is not known: each of its calls is judged by itself.
            **({} if tools_of(stored) else {"readOnlyHint": True}),
            "destructiveHint": False,
            "openWorldHint": True,
        },
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
