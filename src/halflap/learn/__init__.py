"""Learn what tools return from what they returned.

A `Shape` counts what was seen at every place of a tool's results and stores none of their values. Merging shapes is
associative and commutative, so live results, a log and another gateway's export add up in any order. Read `shape` first,
then `merge`; `infer` makes shapes of results, `schema_of` turns them into JSON Schema and types, `confidence` estimates how
certain they are, `drift` compares them. This package does no I/O and has no notion of tool calls.
"""

from halflap.learn.codec import from_json, to_json
from halflap.learn.confidence import confidence
from halflap.learn.drift import Change, changes
from halflap.learn.infer import Observer, infer
from halflap.learn.learned import Learned, Observations
from halflap.learn.merge import merge
from halflap.learn.names import is_name
from halflap.learn.schema_of import brief, schema_of, type_of
from halflap.learn.schemas import infer_schema_from_value, merge_schemas
from halflap.learn.shape import NOTHING, Shape, digest_of

__all__ = [
    "NOTHING",
    "Change",
    "Learned",
    "Observations",
    "Observer",
    "Shape",
    "brief",
    "changes",
    "confidence",
    "digest_of",
    "from_json",
    "infer",
    "infer_schema_from_value",
    "is_name",
    "merge",
    "merge_schemas",
    "schema_of",
    "to_json",
    "type_of",
]
