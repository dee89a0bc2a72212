import asyncio
ls = (await mcp__files__list_directory(path="notes"))["content"].split("\n")
names = [l.removeprefix("[FILE] ") for l in ls if l.startswith("[FILE]")]
texts = await asyncio.gather(*[mcp__files__read_text_file(path=f"notes/{n}", head=1) for n in names])
print({n: t["content"].strip("# \n") for n, t in zip(names, texts)})
