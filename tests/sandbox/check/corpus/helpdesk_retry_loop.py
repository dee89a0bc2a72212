import asyncio
async def retry(fn, *, tries=3, **kw):
    err = None
    for i in range(tries):
        try:
            return await fn(**kw)
        except ToolError as e:
            err = e
            await asyncio.sleep(0.001 * 2 ** i)
    print("gave up:", err)
    return None

a = await retry(mcp__helpdesk__product, sku="LAMP-1")
b = await retry(mcp__helpdesk__product, sku="LAMP-9")
print(a and a["name"], b)
