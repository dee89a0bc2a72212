"""The rules, one module per subject. Read `outputs` first; each check yields the problems of one server."""

from halflap.lint.rules import descriptions, effects, identifiers, names, outputs, paging, quantities

__all__ = ["RULES"]

RULES = (
    *outputs.RULES,
    *names.RULES,
    *descriptions.RULES,
    *identifiers.RULES,
    *quantities.RULES,
    *paging.RULES,
    *effects.RULES,
)
