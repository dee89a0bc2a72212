"""Saved DSPy programs: folders of plain JSON that are offered as tools and run with one configured language model.

Read `manifest` first (fields, predictors, wiring), then `library` (the folders) and `source` (the programs as tools).
`runner` runs them in one long-lived child process, whose code is in `child`; that package and `export` are all that
import DSPy, so listing, inspecting and reloading programs needs no DSPy. `optimize` makes better versions. Saved
programs are untrusted: nothing in a folder can run code, choose the model or lead out of the folder.
"""
