for z in ("Mars/Olympus", "Etc/UTC"):
    try:
        t = await mcp__time__get_current_time(timezone=z)
    except ToolError as err:
        print(z, "failed:", type(err).__name__)
        continue
    print(z, t["timezone"])
