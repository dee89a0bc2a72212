"""YAWL specifications: control flow and decompositions are read; everything else is kept as the original XML and written back.

`read` reads a `specificationSet` or the older `processModel` form, which is not written. `write` puts nets back into the XML they came
from, or makes a new specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.yawl.read import read_process_model, read_set
from halflap.workflows.yawl.write import write_yawl
from halflap.workflows.yawl.xml import children, local, read_xml

if TYPE_CHECKING:
    from halflap.workflows.model.net import Specification

__all__ = ["read_yawl", "write_yawl"]


def read_yawl(source: str) -> Specification:
    """Read a specification; a `WorkflowError` names everything that is wrong, with its line."""
    document = read_xml(source)
    if local(document.root.tag) == "specificationSet":
        return read_set(document, source)
    if local(document.root.tag) == "specification" and children(document.root, "processModel"):
        return read_process_model(document)
    message = f"The root is <{document.root.tag}>; expected <specificationSet>, or <specification> with a <processModel>."
    raise WorkflowError([("line 1", message)], "This is not a YAWL specification.")
