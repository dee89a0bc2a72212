"""YAWL specifications: read as nets, and written with all that they said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.yawl.model import read_model, write_model
from halflap.workflows.yawl.reading import read_set
from halflap.workflows.yawl.writing import write_set
from halflap.workflows.yawl.xml import pretty, read_xml, stem

if TYPE_CHECKING:
    from halflap.workflows.specification import Specification

__all__ = ["read_yawl", "write_yawl"]


def read_yawl(source: str | bytes) -> Specification:
    """Read a specification, of the schemas or with a `processModel`; what is wrong with it is told with its line."""
    document = read_xml(source)
    name = stem(document.root.name)
    if name == "specificationSet":
        return read_set(document)
    if document.root.name == "specification" and any(
        one.name == "processModel" for one in document.root.elements
    ):
        return read_model(document)
    raise WorkflowError(
        [
            (
                f"line {document.root.line}",
                f"The root is <{document.root.name}>. It is <specificationSet>, or <specification> with a <processModel>.",
            )
        ],
        "This is no YAWL.",
    )


def write_yawl(specification: Specification) -> str:
    """Write a specification as XML, in the form that it came in, else as the schema 4.0 has it."""
    written = write_model if specification.dialect == "processModel" else write_set
    return pretty(written(specification))
