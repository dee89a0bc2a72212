"""How the gateway and the check's processes talk: orders to the server, and one question to each child."""

from __future__ import annotations

import struct

__all__ = ["EXAMINE", "KILL", "LARGEST_ANSWER", "LARGEST_CODE", "LARGEST_QUESTION", "ORDER", "QUESTION"]

ORDER = struct.Struct("=cI")
"""What to do, and the number of the examination; with the first comes the child's end of its channel."""
EXAMINE, KILL = b"E", b"K"

QUESTION = struct.Struct("=I")
"""How many bytes of JSON follow."""

LARGEST_CODE = 256 * 1024
LARGEST_QUESTION = 8 * 1024 * 1024
LARGEST_ANSWER = 1024 * 1024
