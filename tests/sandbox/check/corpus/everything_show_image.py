parts = await mcp__everything__get_tiny_image()
img = next(p for p in parts if not isinstance(p, str))
print(img.kind, img.mime_type, len(img.data))
show(img)
