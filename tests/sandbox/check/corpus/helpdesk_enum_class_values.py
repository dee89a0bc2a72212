from enum import Enum

class P(Enum):
    LOW = "low"
    HIGH = "high"

for p in P:
    h = await mcp__helpdesk__sla_hours(priority=p.value)
    print(p.name, h * 60, "minutes")
