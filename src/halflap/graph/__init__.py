"""What feeds what: which tool's output fits which tool's input, and how to get from what one has to what one wants."""
