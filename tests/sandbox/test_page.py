"""The first programs of docs/programs.md and docs/checking.md do what the pages say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from servers.memory import bundled
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.desk import Desk


def test_the_programs_of_the_pages(desk_with: Callable[..., Desk]) -> None:
    def program(page: str) -> str:
        shown = re.findall(
            r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL
        )
        return str(shown[0])

    desk = desk_with(check="on", servers=bundled())
    desk.do(desk.gateway.refresh())
    assert re.fullmatch(r"(.+: \d+ of \d+ cancelled\n){5}", desk.output(program("programs.md")))
    assert desk.run(program("checking.md")).outcome == "mistaken"
