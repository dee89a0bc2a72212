"""Learn what tools return from what they returned.

A `Shape` counts what was seen at every place of a tool's results and keeps none of their values. Shapes merge
associatively and commutatively, so live results, a log and another gateway's export add up in any order. Read `shape`
first, then `merge`; `infer` makes shapes fast; `schema_of` and `type_of` say what a shape means, `confidence` how
certain it is, `drift` what changed. This package does no I/O and does not know what a tool call is.
"""

from halflap.learn.codec import from_json, to_json
from halflap.learn.confidence import confidence
from halflap.learn.drift import Change, changes
from halflap.learn.infer import Observer, infer
from halflap.learn.learned import OUTCOMES, Learned, Observations
from halflap.learn.merge import is_lost, merge
from halflap.learn.names import is_name
from halflap.learn.schema_of import brief, schema_of, type_of
from halflap.learn.schemas import infer_schema_from_value, merge_schemas
from halflap.learn.shape import NOTHING, Shape, digest_of

__all__ = [
    "NOTHING",
    "OUTCOMES",
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
    "is_lost",
    "is_name",
    "merge",
    "merge_schemas",
    "schema_of",
    "to_json",
    "type_of",
]
