import re
log = await mcp__git__git_log(repo_path=".", max_count=3)
ms = re.findall(r"Message: (.*)", log)
made = await mcp__memory__create_entities(entities=[{"name": f"commit-{i}", "entityType": "commit", "observations": [m]} for i, m in enumerate(ms)])
print([e["observations"][0] for e in made["entities"]])
r = await mcp__memory__delete_entities(entityNames=[e["name"] for e in made["entities"]])
if r["success"]: print("cleaned")
