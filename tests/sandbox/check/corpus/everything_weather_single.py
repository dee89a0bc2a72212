w = await mcp__everything__get_structured_content(location="Chicago")
t, h = w["temperature"], w["humidity"]
print("muggy" if t > 25 and h > 70 else "fine", w["conditions"].lower(), w.get("wind", "no wind"))
