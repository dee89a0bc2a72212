import re
total = 0
for a, b in [(1, 2), (3, 4.5), (10, -1)]:
    r = await mcp__everything__get_sum(a=a, b=b)
    total += float(re.search(r"is (-?[\d.]+?)\.?$", r).group(1))
print(total)
