from datetime import date
from statistics import mean
h = (await mcp__sales__order_history(customer_id="CUST-005", limit=30))["orders"]
days = [date.fromisoformat(o["date"]) for o in h]
gaps = [(a - b).days for a, b in zip(days, days[1:])]
print(f"mean gap {mean(gaps):.1f}, max {max(gaps)}, last order {(date(2026, 6, 30) - days[0]).days} days ago")
