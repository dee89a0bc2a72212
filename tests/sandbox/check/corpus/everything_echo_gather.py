import asyncio
msgs = [f"hi {i}" for i in range(4)]
out = await asyncio.gather(*(mcp__everything__echo(message=m) for m in msgs))
assert [o.removeprefix("Echo: ") for o in out] == msgs
print(out[-1])
