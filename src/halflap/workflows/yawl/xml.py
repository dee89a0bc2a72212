"""XML as it is written, with its prefixes and comments; read without entities, document types or network."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeAlias
from xml.parsers import expat

from halflap.core.errors import WorkflowError
from halflap.workflows.source import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Document", "Element", "Markup", "Node", "compact", "nodes_of", "pretty", "read_xml", "stem"]

_LARGEST = 10_000_000
_DEEPEST = 100
_MOST = 500_000
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = re.compile(r"[^\W\d][\w.:\-]*")


@dataclass(frozen=True, slots=True)
class Markup:
    """A comment or a processing instruction, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element, its name with the prefix as it is written."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    children: tuple[Node, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def elements(self) -> list[Element]:
        """The elements in it."""
        return [one for one in self.children if isinstance(one, Element)]

    @property
    def text(self) -> str:
        """The text that is directly in it, without the spaces around it."""
        return "".join(one for one in self.children if isinstance(one, str)).strip()


Node: TypeAlias = Element | Markup | str


@dataclass(frozen=True, slots=True)
class Document:
    """The root element, and what stands before and after it."""

    root: Element
    before: tuple[Markup, ...] = ()
    after: tuple[Markup, ...] = ()


def stem(name: str) -> str:
    """Give a name without its prefix."""
    return name.rpartition(":")[2]


@dataclass
class _Open:
    name: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)


class _Builder:
    """Takes what the parser finds; refuses what could reach out, and what grows too large."""

    def __init__(self) -> None:
        self.open: list[_Open] = [_Open("", {}, 0)]
        self.count = 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.CommentHandler = self._comment
        self.parser.ProcessingInstructionHandler = self._instruction
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._doctype
        self.parser.ExternalEntityRefHandler = self._doctype

    def refuse(self, message: str) -> NoReturn:
        raise WorkflowError([(f"line {self.parser.CurrentLineNumber}", message)], "This XML is not read.")

    def _start(self, name: str, attributes: list[str]) -> None:
        self.count += 1
        if self.count > _MOST:
            self.refuse(f"There are more than {_MOST} elements.")
        if len(self.open) > _DEEPEST:
            self.refuse(f"Elements are nested more than {_DEEPEST} deep.")
        pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
        self.open.append(_Open(name, pairs, self.parser.CurrentLineNumber))

    def _end(self, _: str) -> None:
        done = self.open.pop()
        element = Element(done.name, done.attributes, _tidy(done.children), done.line)
        self.open[-1].children.append(element)

    def _text(self, text: str) -> None:
        self.open[-1].children.append(text)

    def _comment(self, text: str) -> None:
        self.open[-1].children.append(Markup(f"<!--{text}-->"))

    def _instruction(self, target: str, data: str) -> None:
        self.open[-1].children.append(Markup(f"<?{target} {data}?>" if data else f"<?{target}?>"))

    def _doctype(self, *_: object) -> NoReturn:
        self.refuse(
            "It has a document type or declares entities, which are not read. Take the <!DOCTYPE …> out."
        )


def _tidy(children: Iterable[Node]) -> tuple[Node, ...]:
    """Leave out the spaces between elements, where there is nothing but elements; texts that touch are one."""
    joined: list[Node] = []
    for one in children:
        last = joined[-1] if joined else None
        if isinstance(one, str) and isinstance(last, str):
            joined[-1] = last + one
        else:
            joined.append(one)
    mixed = any(isinstance(one, str) and one.strip() for one in joined)
    if mixed or all(isinstance(one, str) for one in joined):
        return tuple(joined)
    return tuple(one for one in joined if not isinstance(one, str))


def read_xml(source: str | bytes) -> Document:
    """Read a document; what is wrong is told with its line."""
    if len(source) > _LARGEST:
        raise WorkflowError(
            [("", f"It has {len(source)} bytes; at most {_LARGEST} are read.")], "This XML is not read."
        )
    builder = _Builder()
    try:
        builder.parser.Parse(_utf8(source), True)
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        raise WorkflowError([(where, f"{expat.ErrorString(error.code)}.")], "This is no XML.") from None
    found = builder.open[0].children
    at = next(at for at, one in enumerate(found) if isinstance(one, Element))
    root = found[at]
    assert isinstance(root, Element)
    around = [tuple(one for one in part if isinstance(one, Markup)) for part in (found[:at], found[at + 1 :])]
    return Document(root, around[0], around[1])


def _utf8(source: str | bytes) -> bytes:
    """Bytes may be in an encoding that they name, of the few that are read."""
    if isinstance(source, str):
        return source.encode("utf-8", "surrogatepass")
    try:
        return decoded(source).encode()
    except WorkflowError as error:
        raise WorkflowError([("line 1", error.problems[0].message)], "This is no XML.") from None


def nodes_of(text: str) -> tuple[Node, ...]:
    """Read a piece of XML that was kept: elements, comments and text."""
    return read_xml(f"<kept>{text}</kept>").root.children


def compact(node: Node) -> str:
    """Write a node on one line, without a space that is not its own."""
    return "".join(_lines(node, None, ""))


def pretty(document: Document) -> str:
    """Write a document with an element on each line, where there is no text beside elements."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>']
    parts += [one.text for one in document.before]
    parts.append("".join(_lines(document.root, 0, "\n")))
    parts += [one.text for one in document.after]
    return "\n".join(parts) + "\n"


def _lines(node: Node, depth: int | None, newline: str) -> Iterable[str]:
    if isinstance(node, str):
        yield _escaped(node)
        return
    if isinstance(node, Markup):
        yield _allowed(node.text)
        return
    for name in (node.name, *node.attributes):
        if not _NAME.fullmatch(name):
            raise _unwritable(f"{name!r} cannot be the name of an element or attribute.")
    attributes = "".join(f' {key}="{_quoted(value)}"' for key, value in node.attributes.items())
    if not node.children:
        yield f"<{node.name}{attributes}/>"
        return
    yield f"<{node.name}{attributes}>"
    spaced = depth is not None and not any(isinstance(one, str) for one in node.children)
    inner = depth + 1 if depth is not None and spaced else None
    for one in node.children:
        if inner is not None:
            yield newline + "  " * inner
        yield from _lines(one, inner, newline)
    if inner is not None:
        yield newline + "  " * (inner - 1)
    yield f"</{node.name}>"


def _unwritable(message: str) -> WorkflowError:
    return WorkflowError([("", message)], "The workflow cannot be written as XML.")


def _allowed(text: str) -> str:
    wrong = _NO_XML.search(text)
    if wrong is not None:
        raise _unwritable(
            f"XML has no character U+{ord(wrong[0]):04X}, which is in {text[:40]!r}. Take it out."
        )
    return text


def _escaped(text: str) -> str:
    clean = _allowed(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace("\r", "&#13;")


def _quoted(text: str) -> str:
    clean = _escaped(text).replace('"', "&quot;")
    return clean.replace("\n", "&#10;").replace("\t", "&#9;")
