"""What can be wrong with what was learned, where it was written down."""

from __future__ import annotations

from halflap.errors.root import HalflapError

__all__ = ["ShapeBrokenError", "ShapeError", "ShapeTooNewError"]


class ShapeError(HalflapError):
    """A learned shape that was written down cannot be read."""

    code = "shape"


class ShapeTooNewError(ShapeError):
    """The shape was written by a newer version of Halflap."""

    code = "shape-too-new"


class ShapeBrokenError(ShapeError):
    """The shape is damaged, or is none."""

    code = "shape-broken"
