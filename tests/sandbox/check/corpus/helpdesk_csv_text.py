import csv, io
text = await mcp__helpdesk__export_csv(separator=";")
rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
hours = sum(float(r["estimate"]) for r in rows if r["estimate"])
print(len(rows), hours, rows[0]["status"])
