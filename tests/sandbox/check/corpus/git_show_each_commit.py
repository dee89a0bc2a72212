import re
log = await mcp__git__git_log(repo_path=".")
for sha in re.findall(r"Commit: ([0-9a-f]{40})", log)[:2]:
    shown = await mcp__git__git_show(repo_path=".", revision=sha)
    files = set(re.findall(r"^\+\+\+ b/(\S+)", shown, re.M))
    print(sha[:1] != "", sorted(files))
