from dataclasses import dataclass, asdict, field
import json

@dataclass(order=True)
class Row:
    hours: float
    id: int = 0
    who: str = "-"
    tags: list = field(default_factory=list)

ts = (await mcp__helpdesk__list_tickets(limit=6))["tickets"]
rows = sorted(Row(t["estimate_hours"] or 0.0, t["id"], t["assignee"] or "-", t["tags"]) for t in ts)
print(json.dumps(asdict(rows[-1])))
