import asyncio
cities = ["New York", "Chicago", "Los Angeles"]
w = dict(zip(cities, await asyncio.gather(*[mcp__everything__get_structured_content(location=c) for c in cities])))
hot = max(w, key=lambda c: w[c]["temperature"])
for c, x in w.items():
    print(f"{c}: {x['temperature']}°C, {x['conditions']}, {x['humidity']}%")
print("warmest", hot, "f", w[hot]["temperature"] * 9 / 5 + 32)
