from __future__ import annotations

import pytest

from catalog.tools import document, first
from halflap.catalog.order import Step, steps

CONVERTERS = [
    document("a", "print_as_pdf", "Convert a document to PDF."),
    document("b", "markdown_to_pdf", "Convert a document."),
    document("c", "pdf_to_markdown", "Convert a document."),
    document("d", "csv2json"),
    document("d", "jsonToCsv"),
    document("e", "x", title="Euros to dollars"),
    document("e", "y", title="Dollars to euros"),
]


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("convert PDF to markdown", "pdf_to_markdown"),
        ("convert markdown to PDF", "markdown_to_pdf"),
        ("turn a pdf into markdown", "pdf_to_markdown"),
        ("make a pdf from markdown", "markdown_to_pdf"),
        ("turn some csv into json", "csv2json"),
        ("turn some json into csv", "jsonToCsv"),
        ("I want to change dollars to euros", "y"),
        ("I want to change euros to dollars", "x"),
    ],
)
def test_what_is_to_become_what_is_seen(query: str, tool: str) -> None:
    assert first(query, CONVERTERS).endswith(f"__{tool}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read the files", {Step("read", "file", becomes=False)}),
        ("PDF to Markdown", {Step("pdf", "markdown", becomes=True)}),
        ("pdf2markdown", {Step("pdf", "markdown", becomes=True)}),
        ("Markdown from a PDF", {Step("pdf", "markdown", becomes=True)}),
        ("to from", set()),
        ("", set()),
    ],
)
def test_a_text_has_steps(text: str, expected: set[Step]) -> None:
    assert steps(text) == expected
