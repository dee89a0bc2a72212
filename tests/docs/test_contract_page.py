"""docs/contract.md: every snippet runs, and every JSON is what is sent."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path
    from types import ModuleType

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

PAGE = (ROOT / "docs" / "contract.md").read_text()
README = (ROOT / "examples" / "sales-server" / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FOR_FASTMCP = re.findall(r"```python fastmcp\n(.*?)```", PAGE, re.DOTALL)
SHOWN = {name: json.loads(text) for name, text in re.findall(r"```json (\w+)\n(.*?)```", PAGE, re.DOTALL)}


def module_of(name: str, text: str, folder: Path) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Run the snippets one after the other, as one module."""
    yield module_of("contract_page", "\n\n".join(SNIPPETS), tmp_path_factory.mktemp("page"))
    del sys.modules["contract_page"]


def sent(page: Any, name: str, **arguments: Any) -> dict[str, Any]:
    result = asyncio.run(page.server.call_tool(name, arguments))
    found: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == found
    return found | {"metadata": found["metadata"] | {"execution_time_ms": 0}}


def test_every_block_on_the_page_is_looked_at() -> None:
    assert PAGE.count("```") == 2 * (len(SNIPPETS) + len(FOR_FASTMCP) + len(SHOWN))
    assert set(SHOWN) == {"success", "error", "breach", "field"}


def test_an_answer_is_as_shown(page: Any) -> None:
    assert sent(page, "customer_details", customer_id="CUST-001") == SHOWN["success"]
    assert list(SHOWN["success"]) == ["success", "data", "metadata"]


def test_an_error_is_as_shown(page: Any) -> None:
    assert sent(page, "customer_details", customer_id="CUST-999") == SHOWN["error"]


def test_a_breach_is_as_shown(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.CUSTOMERS[0], "total_revenue", -5)
    assert sent(page, "customer_details", customer_id="CUST-001") == SHOWN["breach"]


def test_a_field_is_as_shown(page: Any) -> None:
    assert page.output_schema(page.Customer)["properties"]["total_revenue"] == SHOWN["field"]


def test_the_snippets_do_what_they_say(page: Any) -> None:
    assert sent(page, "customer_count")["metadata"]["cached"] is True
    assert asyncio.run(page.answered()).structured_content["success"] is True
    assert asyncio.run(page.fetched()).results == list(range(10))
    assert page.definition["annotations"] == {"readOnlyHint": True}
    first = sent(page, "top_customers", limit=3)["data"]
    second = sent(page, "top_customers", limit=3, cursor=first["pagination"]["next_cursor"])["data"]
    assert [one["customer_id"] for one in second["results"]] == ["CUST-004", "CUST-005"]


def test_the_snippet_for_fastmcp_runs(tmp_path: Path) -> None:
    pytest.importorskip("fastmcp", reason="needs FastMCP, which is not installed")
    module: Any = module_of("contract_page_fastmcp", "\n".join(FOR_FASTMCP), tmp_path)
    result = asyncio.run(module.server.call_tool("count_customers", {"segment": "smb"}))
    assert result.structured_content["data"] == 3
