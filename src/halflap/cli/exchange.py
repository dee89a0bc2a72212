"""`halflap schema export` and `halflap schema import`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.files import read_at_most
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    note,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.setting import opened, read_config
from halflap.core.errors import FileError, ShapeBrokenError

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.observe import Imported

__all__ = ["export_learned", "import_learned"]

_MOST_BYTES = 256 * 1024 * 1024


@reported
def export_learned(
    file: Annotated[
        Path | None,
        typer.Argument(help="The file to write to; without it, or with -, stdout.", show_default=False),
    ] = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write what was learned of all tools, as JSON, for another gateway to import.

    Names of servers, tools and fields are in it, and of values the words under tag keys; with learning.values,
    the other texts that are kept, too.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    data = asyncio.run(_export(read_config(config)))
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    if file is None or str(file) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise FileError(
            f"{file} cannot be written: {error.strerror}. Name a file that you may write, in a folder that is there."
        ) from None
    note(f"What was learned of {_tools(data)} was written to {file}.")


def _tools(data: dict[str, Any]) -> str:
    count = len({(one["server"], one["tool"]) for one in data["learned"]})
    return "1 tool" if count == 1 else f"{count} tools"


async def _export(config: Config) -> dict[str, Any]:
    async with opened(config) as gateway:
        return await gateway.export_learned()


@reported
def import_learned(
    file: Annotated[Path, typer.Argument(help="A file that `halflap schema export` wrote, or - for stdin.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Take what another gateway learned. However often it is imported, it counts once."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    imported = asyncio.run(_import(read_config(config), _read(file)))
    keys = {key for shapes in imported.shapes.values() for key in shapes}
    told = {
        "tools": len({(key.server, key.tool) for key in keys}),
        "origins": len(imported.shapes),
        "observations": sum(
            one.observations for shapes in imported.shapes.values() for one in shapes.values()
        ),
        "new": imported.new,
        "own": imported.own,
    }
    if as_json:
        print_json(told)
        return
    found = f"tools {told['tools']}, results {told['observations']}"
    if imported.new:
        note(f"Imported what was learned elsewhere: {found}, of which {imported.new} are new.")
    else:
        note(f"None of the results in it are new: {found}, which count already.")
    if imported.own:
        note(f"{imported.own} parts came from here in the first place, and count already.")


def _read(file: Path) -> Any:
    from halflap.schema import json_problem, parse_json  # noqa: PLC0415 -- the commands beside this one do without

    too_large = f"{_MOST_BYTES // 2**20} MiB, which nothing is that `halflap schema export` wrote."
    data = read_at_most(file, _MOST_BYTES, str(file), too_large)
    try:
        return parse_json(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ShapeBrokenError(
            f"{file} cannot be read: {json_problem(error)}. Nothing was imported; take it from `halflap schema export`."
        ) from None
    except RecursionError:
        raise ShapeBrokenError(
            f"{file} is nested too deeply. Nothing was imported; take it from `halflap schema export`."
        ) from None


async def _import(config: Config, data: Any) -> Imported:
    async with opened(config) as gateway:
        return await gateway.import_learned(data)
