"""The search for a better workflow: what counts as better, and two ways to look for it."""
