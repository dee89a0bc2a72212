"""What tools return, learned from what they returned."""

from halflap.learn.infer import Inference, infer
from halflap.learn.merge import merge
from halflap.learn.shape import NOTHING, Shape

__all__ = ["NOTHING", "Inference", "Shape", "infer", "merge"]
