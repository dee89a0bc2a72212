"""What tools return, learned from what they returned."""

from halflap.learn.brief import brief
from halflap.learn.codec import from_json, to_json
from halflap.learn.confidence import confidence
from halflap.learn.core import Observer, infer, observer
from halflap.learn.drift import Change, breaches, changes, is_stable
from halflap.learn.evidence import digest_of
from halflap.learn.learned import Learned, outcome_of
from halflap.learn.loss import is_lost
from halflap.learn.merge import merge
from halflap.learn.names import is_name
from halflap.learn.render import render
from halflap.learn.schemas import infer_schema_from_value, merge_schemas
from halflap.learn.shape import NOTHING, Shape
from halflap.learn.unkept import Unkept, with_unkept

__all__ = [
    "NOTHING",
    "Change",
    "Learned",
    "Observer",
    "Shape",
    "Unkept",
    "breaches",
    "brief",
    "changes",
    "confidence",
    "digest_of",
    "from_json",
    "infer",
    "infer_schema_from_value",
    "is_lost",
    "is_name",
    "is_stable",
    "merge",
    "merge_schemas",
    "observer",
    "outcome_of",
    "render",
    "to_json",
    "with_unkept",
]
