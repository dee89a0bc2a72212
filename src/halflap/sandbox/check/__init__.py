"""The check before the run: what is wrong with a program, before it calls anything."""
