"""XML with prefixes as written, read without document types, entities or network access."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder, indent, tostring
from xml.parsers import expat

from halflap.core.errors import WorkflowError, WorkflowProblem

_DEEPEST = 100
_MAX_ELEMENTS = 500_000
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Document:
    """The root element, the line of each element, and the problems found so far."""

    root: Element = field(default_factory=lambda: Element(""))
    lines: dict[Element, int] = field(default_factory=dict)
    problems: list[WorkflowProblem] = field(default_factory=list)

    def wrong(self, element: Element, message: str, *within: str) -> None:
        where = ", ".join((f"line {self.lines.get(element, 1)}", *within))
        self.problems.append(WorkflowProblem(where, message))

    def check(self) -> None:
        if self.problems:
            raise WorkflowError(self.problems, "This YAWL file cannot be read.")


def read_xml(text: str) -> Document:
    """Parse XML; one that has too many elements, is too deep or has a document type is refused."""
    builder = TreeBuilder(insert_comments=True, insert_pis=True)
    document = Document()
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def refuse(message: str) -> NoReturn:
        raise _refused(f"line {parser.CurrentLineNumber}", message)

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if len(document.lines) >= _MAX_ELEMENTS or depth > _DEEPEST:
            refuse(f"At most {_MAX_ELEMENTS:,} elements, nested {_DEEPEST} deep, are read.")
        document.lines[builder.start(name, attributes)] = parser.CurrentLineNumber

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler, parser.ProcessingInstructionHandler = builder.comment, builder.pi
    for handler in ("StartDoctypeDeclHandler", "EntityDeclHandler", "ExternalEntityRefHandler"):
        setattr(parser, handler, lambda *_: refuse("It has a document type, which is not read. Remove it."))
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", text).lstrip().encode(), True)
    except expat.ExpatError as error:
        raise _refused(f"line {error.lineno}", f"{expat.ErrorString(error.code)}.") from None
    except UnicodeError:
        raise _refused("", "It has half a character.") from None
    document.root = builder.close()
    return document


def _refused(where: str, message: str) -> WorkflowError:
    return WorkflowError([(where, message)], "This XML cannot be read.")


def local(name: Any) -> str:
    """Return a name without its prefix; empty for comments."""
    return name.rpartition(":")[2] if isinstance(name, str) else ""


def children(element: Element, *names: str) -> list[Element]:
    return [one for one in element if local(one.tag) in names]


def text_of(element: Element, name: str) -> str | None:
    """Return the text of a child, if it has any."""
    found = children(element, name)
    return ("".join(found[0].itertext()).strip() or None) if found else None


def attributes_of(element: Element) -> dict[str, Any]:
    """Return the attributes in `extendedAttributes` whose values are JSON; others are not ours."""
    found: dict[str, Any] = {}
    for one in children(element, "extendedAttributes"):
        for child in children(one, "attribute"):
            try:
                found.setdefault(child.get("key", ""), json.loads(child.get("value", "")))
            except ValueError:
                continue
    return found


def extend(element: Element, prefix: str, values: dict[str, Any], known: frozenset[str]) -> None:
    """Write values to the `extendedAttributes` of an element; attributes of others stay."""
    old = children(element, "extendedAttributes")
    made = Element(f"{prefix}extendedAttributes", old[0].attrib if old else {})
    for key, value in values.items():
        made.append(Element(f"{prefix}attribute", {"key": key, "value": json.dumps(value, sort_keys=True)}))
    for one in old:
        made.extend(child for child in one if child.get("key") not in known)
        element.remove(one)
    if len(made) or made.attrib:
        element.append(made)


def written(root: Element) -> str:
    """Return a document as text."""
    for element in root.iter():
        if element.text is not None and not element.text.strip() and len(element):
            element.text = None
        if element.tail is not None and not element.tail.strip():
            element.tail = None
    indent(root)
    text = tostring(root, encoding="unicode")
    bad = _NOT_XML.search(text)
    if bad is not None:
        message = f"It has the character \\u{ord(bad[0]):04x}, which XML cannot express."
        raise WorkflowError([("", message)], "The workflow cannot be written as XML.")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
