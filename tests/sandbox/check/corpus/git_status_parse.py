s = await mcp__git__git_status(repo_path=".")
mod = [l.split(":", 1)[1].strip() for l in s.splitlines() if "modified:" in l]
branch = next((l.split()[-1] for l in s.splitlines() if l.startswith("On branch")), None)
print(branch, mod)
