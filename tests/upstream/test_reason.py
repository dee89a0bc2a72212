"""Of what a server wrote last, the lines are shown that say why it ended."""

from __future__ import annotations

import pytest

from halflap.upstream.reason import telling

NPX = """\
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@nope%2fdoes-not-exist-zzz
npm error 404
npm error 404  The requested resource '@nope/does-not-exist-zzz@*' could not be found or you do not have permission.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm notice
npm notice New major version of npm available! 10.9.3 -> 11.6.2
npm notice Changelog: https://github.com/npm/cli/releases/tag/v11.6.2
npm notice To update run: npm install -g npm@11.6.2
npm notice
npm error A complete log of this run can be found in: /home/me/.npm/_logs/x-debug-0.log"""
PYTHON = """\
Traceback (most recent call last):
  File "server.py", line 3, in <module>
    import foo
  File "foo.py", line 1, in <module>
    import bar
ModuleNotFoundError: No module named 'bar'"""
NODE = """\
node:internal/modules/cjs/loader:1215
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)
    at Module._load (node:internal/modules/cjs/loader:1043:27) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.19.0"""


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (NPX, ["404 Not Found - GET https://registry.npmjs.org", "could not be found or you"]),
        (PYTHON, ["ModuleNotFoundError: No module named 'bar'"]),
        (NODE, ["Error: Cannot find module '/srv/index.js'"]),
        ("one\ntwo\n\nthree\nfour", ["two", "three", "four"]),
        ("npm notice a\nnpm notice b\nnpm notice c\nnpm notice d", ["npm notice b"]),
        ("starting\nError: no key\n1\n2\n3\n4\n5", ["Error: no key", "4", "5"]),
    ],
)
def test_what_names_a_failure_comes_before_notices(log: str, shown: list[str]) -> None:
    lines = telling(log.splitlines())
    assert len(lines) == 3
    assert all(any(words in line for line in lines) for words in shown)


def test_few_lines_are_shown_as_they_are() -> None:
    assert telling(["npm notice x", "", "failed"]) == ["npm notice x", "failed"]
