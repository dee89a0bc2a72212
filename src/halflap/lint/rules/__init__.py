"""The rules of the linter, one file for each thing that they are about."""

from halflap.lint.rules.book import IDS, RULES

__all__ = ["IDS", "RULES"]
