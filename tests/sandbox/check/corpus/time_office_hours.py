def inside(dt): return 9 <= int(dt[11:13]) < 17
ok = []
for h in range(0, 24, 3):
    r = await mcp__time__convert_time(source_timezone="Europe/Paris", time=f"{h:02}:00", target_timezone="America/Chicago")
    if inside(r["source"]["datetime"]) and inside(r["target"]["datetime"]):
        ok.append(h)
print("overlap at", ok or "never")
