"""Workflows that are run: whether one can be, the program that it becomes, and what was done, to go on from there."""
