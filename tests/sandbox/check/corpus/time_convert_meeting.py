r = await mcp__time__convert_time(source_timezone="Europe/London", time="16:30", target_timezone="Asia/Kolkata")
s, t = r["source"], r["target"]
print(s["datetime"][11:16], "->", t["datetime"][11:16], r["time_difference"])
print(float(r["time_difference"].rstrip("h")) > 0, s["is_dst"] or t["is_dst"] or "no dst")
