"""Saved DSPy programs: JSON files that are offered as tools and run with one configured language model.

Read `spec` first (fields, predictors), then `library` (the files) and `programs` (as tools).
`runner` runs them in one long-lived `child_process`, whose code is in `child`; that package and `export` are all that
import DSPy, so listing, inspecting and reloading programs needs no DSPy. `optimize` makes better programs. Saved
programs are untrusted: nothing in a file can run code or choose the model.
"""
