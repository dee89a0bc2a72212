r = await mcp__everything__get_resource_reference(resourceType="Text", resourceId=3)
res = [x for x in r if hasattr(x, "uri")]
print(res[0].uri, res[0].text[:8], len(r))
links = await mcp__everything__get_resource_links(count=4)
print(sum(not isinstance(l, str) for l in links))
