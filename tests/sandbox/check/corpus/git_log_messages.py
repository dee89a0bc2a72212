import re
log = await mcp__git__git_log(repo_path=".", max_count=10)
msgs = re.findall(r"^Message: (.+)$", log, re.M)
kinds = {}
for m in msgs:
    k = m.split(":")[0] if ":" in m else "other"
    kinds[k] = kinds.get(k, 0) + 1
print(len(msgs), kinds)
