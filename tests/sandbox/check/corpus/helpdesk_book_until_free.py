from datetime import datetime, timedelta
at = datetime(2026, 9, 1, 9)
for attempt in range(4):
    r = await mcp__helpdesk__book_meeting(title="Plan", starts=at.isoformat() + "Z", attendees=["kofi", "ines"], minutes=60)
    if r["booked"]:
        print("booked", r["meeting_id"], at); break
    print("collides with", [c["meeting"] for c in r["conflicts"]])
    at += timedelta(hours=1)
else:
    print("no slot")
