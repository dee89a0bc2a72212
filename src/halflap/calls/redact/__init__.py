"""Removes secrets from values, texts and programs before they are recorded or shown.

Read `table` first: it lists the names, prefixes and other forms by which secrets are recognised. `scan` finds them in text,
`redactor` removes them from values and texts, and `configured` collects the secrets that the configuration holds. In
free text this is best effort: a password without a telling name or form is not recognised. Text is untrusted, so every
search takes linear time.
"""

from halflap.calls.redact.configured import configured_secrets
from halflap.calls.redact.redactor import Redactor
from halflap.calls.redact.scan import MARK

__all__ = ["MARK", "Redactor", "configured_secrets"]
