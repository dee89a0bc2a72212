"""Workflows as nets: read, written, drawn, judged, compared and made better."""

from __future__ import annotations
