"""Examines each program in a pair of child processes: one parses and judges it, the other is ty."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from halflap.sandbox.check.inside.answer import Answer
from halflap.sandbox.check.inside.profile import ANSWER, QUESTION
from halflap.sandbox.jail.fork_server import Pool
from halflap.sandbox.jail.protocol import Frames, MisuseError, frame
from halflap.sandbox.turns import Turns

if TYPE_CHECKING:
    from halflap.sandbox.jail.fork_server import ForkServer

_PROFILE = "halflap.sandbox.check.inside.profile"
_LARGEST_CODE = 256 * 1024
_LARGEST_QUESTION = 8 * 1024 * 1024
_LARGEST_ANSWER = 1024 * 1024
_AT_ONCE = 3
"""Checks at the same time; the last place is for a principal who has no other check running."""
_IDLE = 1
"""Pairs of processes that wait for the next program. Each takes 25 MB."""
_REFILL_AFTER_SECONDS = 0.05
_CHUNK = 1 << 16
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


class CheckSkipped(Exception):  # noqa: N818 -- nothing failed for the caller: there is just no check
    """A program could not be checked; the reason is shown to users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Orders:
    """How examinations are confined."""

    seconds: float = 4.0
    memory_bytes: int = 768 * 1024 * 1024
    cpu_seconds: int = 3
    namespaces: bool = True
    landlock: bool = True
    lockdown: bool = True
    """False only in tests that show what an attack would do without locks."""
    command: tuple[str, ...] = ()
    """In tests: a program that replaces ty, and its arguments."""
    also: tuple[str, ...] = ()
    """In tests: the files and folders which that program needs."""


def find_ty() -> str:
    """Return the path of the ty that was installed with us, and of no other."""
    try:
        from ty import find_ty_bin  # noqa: PLC0415 -- without it there is no check, but a gateway

        return find_ty_bin()
    except (ImportError, FileNotFoundError):
        raise FileNotFoundError("ty is not installed") from None


def read_answer(body: bytes) -> Answer:
    """Validate the answer of a child, which the program may have taken over."""
    try:
        answer = _ANSWER.validate_json(body, strict=True)
    except ValidationError:
        raise CheckSkipped("its answer could not be read") from None
    if answer.trouble:
        raise CheckSkipped(answer.trouble[:200])
    return answer


class Examiner:
    """Examines programs in children of a fork server, which is started when first needed."""

    def __init__(self, orders: Orders | None = None) -> None:
        self._orders = orders or Orders()
        self._pool = Pool(_PROFILE, self._instructions)
        self._turns = Turns(_AT_ONCE, "check")

    @property
    def server(self) -> ForkServer | None:
        return self._pool.server

    async def ready(self) -> ForkServer:
        """Start the fork server and processes for the next program; raise `CheckSkipped` if that fails."""
        try:
            server = await self._pool.start()
        except OSError as error:
            raise CheckSkipped(f"its process could not be started: {error}") from error
        self._pool.refill(_IDLE)
        return server

    async def examine(self, question: Mapping[str, Any], principal: str = "local") -> Answer:
        """Return what is found in a program, or raise `CheckSkipped`."""
        if len(question["code"].encode(errors="replace")) > _LARGEST_CODE:
            raise CheckSkipped(f"the program is larger than {_LARGEST_CODE // 1024} KB")
        body = frame(QUESTION, json.dumps(question).encode())
        if len(body) > _LARGEST_QUESTION:
            raise CheckSkipped(f"the tools' types are larger than {_LARGEST_QUESTION // (1024 * 1024)} MB")
        try:
            async with asyncio.timeout(self._orders.seconds), self._turns.turn(principal):
                try:
                    return read_answer(await self._ask(body))
                except (OSError, EOFError):
                    # The waiting processes may have ended before the question came.
                    return read_answer(await self._ask(body))
        except TimeoutError:
            raise CheckSkipped(f"it took longer than {self._orders.seconds:g} s") from None
        except (OSError, EOFError):
            raise CheckSkipped("its process crashed") from None
        except MisuseError:
            raise CheckSkipped("its answer could not be read") from None

    async def _ask(self, question: bytes) -> bytes:
        """Send a question to a pair of processes, return the answer, and end them."""
        await self.ready()
        loop, frames = asyncio.get_running_loop(), Frames({ANSWER: _LARGEST_ANSWER})
        child = await self._pool.take()
        try:
            with child.channel as channel:
                await loop.sock_sendall(channel, question)
                while part := await loop.sock_recv(channel, _CHUNK):
                    for _, body in frames.add(part):
                        return body
            raise EOFError
        finally:
            child.kill()
            # The next pair warms up, but not while the program starts: that would take its CPU time.
            loop.call_later(_REFILL_AFTER_SECONDS, self._pool.refill, _IDLE)

    def _instructions(self) -> dict[str, Any]:
        return asdict(self._orders) | {
            "executable": self._orders.command[0] if self._orders.command else find_ty(),
            # In memory where there is such a folder: it is faster, and nothing is left by a crash of the machine.
            "temporary": ["/dev/shm", tempfile.gettempdir()],  # noqa: S108 -- a private folder is made in it
        }

    async def close(self) -> None:
        """End the fork server, and whatever it examines."""
        await self._pool.close()
