import csv, io
from collections import defaultdict
txt = (await mcp__files__read_text_file(path="sales.csv"))["content"]
tot = defaultdict(int)
for row in csv.DictReader(io.StringIO(txt)):
    tot[row["region"]] += int(row["amount"])
print(dict(tot), max(tot, key=tot.get))
