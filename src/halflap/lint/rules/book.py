"""All rules, in the order in which they are told."""

from __future__ import annotations

from halflap.lint.rules import effects, forms, identities, ignores, names, outputs, paging, quantities, texts

__all__ = ["IDS", "RULES"]

_OTHERS = (
    *outputs.RULES,
    *forms.RULES,
    *names.RULES,
    *texts.RULES,
    *identities.RULES,
    *quantities.RULES,
    *paging.RULES,
    *effects.RULES,
)
RULES = (*_OTHERS, *ignores.rules([one.id for one in _OTHERS]))
IDS = tuple(one.id for one in RULES)
