"""Where values went, and which tool feeds which, in SQL: counts that are added to, and edges that are made anew."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import batched
