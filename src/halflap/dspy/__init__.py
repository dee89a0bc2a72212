"""Saved DSPy programs: folders of JSON, read without DSPy, and run with it."""
