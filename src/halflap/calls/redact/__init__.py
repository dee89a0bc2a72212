"""Removes secrets from values, texts and programs before they are recorded or shown.

A secret is recognised by the name it is stored under (`names`, and `assignments` for names in text and code), by its
value, if the configuration holds it (`configured`), or by its form (`forms`, one table with a row per kind of token).
Start with `forms`; `redactor` applies all of it. In free text this is best effort: a password without a telling name
or form cannot be recognised. Every search takes time linear in the text, because the text is untrusted.
"""

from halflap.calls.redact.configured import configured_secrets
from halflap.calls.redact.redactor import MARK, Redactor

__all__ = ["MARK", "Redactor", "configured_secrets"]
