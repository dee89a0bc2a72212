"""The dspy family: execute, list, describe and reload saved DSPy programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from halflap.core.errors import ProgramInputsError, SeedCode
from halflap.server.confirm import confirm
from halflap.server.tools.tool import family

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.client import Client
    from halflap.server.tools.tool import Arguments, OwnTool


def dspy_family(gateway: Gateway) -> list[OwnTool]:
    """Return the tools of the family, bound to a gateway."""
    handlers = {
        "dspy_execute_program": _execute,
        "dspy_list_programs": _list,
        "dspy_get_program_info": _info,
        "dspy_reload_program": _reload,
    }
    return family(gateway, handlers, error_codes=get_args(SeedCode))


async def _execute(gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
    name, inputs = _argument(arguments, "program", str), _argument(arguments, "inputs", dict)
    parts = await gateway.prepare()
    program = await parts.dspy.find(name, client.principal)
    # Before the user is asked for confirmation.
    program.spec.check_inputs(inputs)
    version = f"{name} {program.spec.version}, {program.source_hash}"
    about = f"await dspy__{name}(**{json.dumps(inputs, ensure_ascii=False)})\n# {version}"
    destructive = await parts.programs.destructive_within(f"dspy__{name}", client.principal)
    consent = await confirm(client, destructive, about, saved=name)
    return await parts.dspy.execute(name, inputs, client.on_behalf(consent))


async def _list(gateway: Gateway, _arguments: Arguments, client: Client) -> dict[str, Any]:
    programs, broken = await (await gateway.prepare()).dspy.usable(client.principal)
    return {
        "programs": [program.summary() for program in programs.values()],
        "total_count": len(programs),
        "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
    }


async def _info(gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
    name = _argument(arguments, "program", str)
    return (await (await gateway.prepare()).dspy.find(name, client.principal)).info()


async def _reload(gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
    name = _argument(arguments, "program", str)
    return (await (await gateway.prepare()).dspy.reload(name, client.principal)).reloaded()


def _argument(arguments: Arguments, name: str, kind: type) -> Any:
    value = arguments.get(name)
    if value is None or value in ("", {}):
        raise ProgramInputsError("", message=f"Parameter '{name}' is required and must not be empty")
    if not isinstance(value, kind):
        expected = "a string" if kind is str else "an object"
        raise ProgramInputsError("", message=f"Parameter '{name}' must be {expected}")
    return value
