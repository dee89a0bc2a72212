from datetime import datetime, timedelta
zones = ["Europe/Berlin", "Asia/Tokyo"]
for p in ("urgent", "high"):
    h = await mcp__helpdesk__sla_hours(priority=p)
    for z in zones:
        now = (await mcp__time__get_current_time(timezone=z))["datetime"]
        due = datetime.fromisoformat(now) + timedelta(hours=h)
        print(p, z, due > datetime.fromisoformat(now), due.tzinfo is not None)
