import json
cfg = json.loads((await mcp__files__read_text_file(path="config.json"))["content"])
print(cfg["name"], cfg["retries"] + 1, [k for k, v in cfg["features"].items() if v], cfg.get("debug", False))
