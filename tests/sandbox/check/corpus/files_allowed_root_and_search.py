root = (await mcp__files__list_allowed_directories())["content"].splitlines()[-1]
found = (await mcp__files__search_files(path=root, pattern="**/*.md", excludePatterns=["**/ideas*"]))["content"]
for p in found.splitlines():
    print(p.rsplit("/", 1)[-1], len((await mcp__files__read_text_file(path=p))["content"]) > 0)
