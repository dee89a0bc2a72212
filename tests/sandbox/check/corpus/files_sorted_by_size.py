r = await mcp__files__list_directory_with_sizes(path=".", sortBy="size")
for line in r["content"].splitlines():
    if line.startswith("[FILE]"):
        _, name, *size = line.split()
        print(name, " ".join(size)); break
