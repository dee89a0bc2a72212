try:
    print(await mcp__git__git_show(repo_path=".", revision="no-such-thing"))
except Exception as e:
    print("no such revision:", len(str(e)) > 0)
finally:
    print("done")
