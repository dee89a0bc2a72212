"""Catalogues to search, made up, generated and real."""

from __future__ import annotations

from hypothesis import strategies as st

from halflap.catalog import namespaced
from halflap.catalog.search.index import Found, Index
from halflap.catalog.search.terms import Document

# Few words, so that documents have much in common.
WORDS = st.sampled_from(
    ["read", "file", "files", "list", "user", "User", "get", "the", "猫", "a-b", "x_y", ""]
)
PHRASES = st.lists(WORDS, max_size=4).map(" ".join)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map("_".join)


def document(
    server: str, tool: str, description: str = "", *parameters: str, about: str = "", title: str = ""
) -> Document:
    return Document(
        namespaced(server, tool), server, tool, title, description, " ".join(parameters), "", about
    )


DOCUMENTS = st.builds(document, st.sampled_from(["s", "t", "read"]), NAMES, PHRASES, PHRASES, about=PHRASES)
CATALOGUES = st.lists(DOCUMENTS, max_size=12, unique_by=lambda one: one.name)

OFFICE = [
    document("files", "read_file", "Read a text file from disk.", "path"),
    document("files", "write_file", "Write text to a file.", "path", "content"),
    document("files", "list_directory", "List what is in a folder.", "path"),
    document("tracker", "createIssue", "Open a new issue in a project.", "title", about="Track bugs."),
    document("tracker", "set_user", "Assign a person to an issue.", "user"),
    document("weather", "forecast", "Tell the weather of the coming days.", "city"),
]


def names(found: list[Found]) -> list[str]:
    return [one.name for one in found]


def first(query: str, documents: list[Document] | None = None) -> str:
    return Index(OFFICE if documents is None else documents).search(query)[0].name
