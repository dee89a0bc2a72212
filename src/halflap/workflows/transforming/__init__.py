"""Changes to a workflow, each with what has to hold before it may be made."""
