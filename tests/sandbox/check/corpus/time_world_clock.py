import asyncio
zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"]
rs = await asyncio.gather(*[mcp__time__get_current_time(timezone=z) for z in zones])
for z, r in zip(zones, rs):
    print(f"{z:<20}{r['datetime'][11:16]} {r['day_of_week'][:3]}{' DST' if r['is_dst'] else ''}")
