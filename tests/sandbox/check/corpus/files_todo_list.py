r = await mcp__files__read_text_file(path="notes/todo.md")
lines = r["content"].splitlines()
todo = [l[6:] for l in lines if l.startswith("- [ ]")]
done = [l[6:] for l in lines if l.startswith("- [x]")]
print(f"{len(done)}/{len(todo) + len(done)} done;", "next:", todo[0])
