import asyncio
from datetime import date, datetime
TODAY = date(2026, 6, 30)
rows = (await mcp__helpdesk__list_tickets(limit=8))["tickets"]
for row in rows:
    row["age_days"] = (TODAY - date.fromisoformat(row["created"])).days
    row["late"] = row["age_days"] > 10
rows.sort(key=lambda x: x["age_days"], reverse=True)
for row in rows[:3]:
    print(row["id"], row["age_days"], "LATE" if row["late"] else "ok")
