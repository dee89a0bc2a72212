import re
r = await mcp__files__read_text_file(path="logs/app.log", tail=3)
errs = [m.groupdict() for m in re.finditer(r"(?P<at>\d\d:\d\d) ERROR (?P<what>.*)", r["content"])]
for e in errs:
    print(e["at"], e["what"])
