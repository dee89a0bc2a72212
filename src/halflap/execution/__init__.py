"""Programs over tools: where they run, and what they may do."""
