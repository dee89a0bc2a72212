"""Saved DSPy programs: JSON files that are offered as tools and run with one configured language model.

Read `spec` first (fields, predictors), then `library` (the files) and `programs` (as tools).
`runner` runs them in one long-lived `child_process`, whose code is in `child`. Only `child` and `export` import DSPy, so
programs can be listed, inspected and reloaded without it. `optimize` improves programs. Saved programs are untrusted:
nothing in a file can run code or choose the model.
"""
