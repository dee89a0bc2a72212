for kind in ("error", "success", "debug"):
    m = await mcp__everything__get_annotated_message(messageType=kind, includeImage=kind == "success")
    text = m if isinstance(m, str) else m[0]
    print(kind, "|", text, "|", 1 if isinstance(m, str) else len(m))
