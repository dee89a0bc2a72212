paths = ["notes/todo.md", "notes/ideas.md", "missing.md"]
r = await mcp__files__read_multiple_files(paths=paths)
parts = r["content"].split("\n---\n")
print(len(parts), [p.split(":", 1)[0] for p in parts])
