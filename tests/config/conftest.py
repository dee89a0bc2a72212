from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from halflap.config import Config, load_config
from halflap.core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Desk:
    """A user with a home, a configuration folder, a data folder and a working folder of their own."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ = {
            "HOME": str(self.home),
            "HALFLAP_CONFIG_DIR": str(self.home / "conf"),
            "HALFLAP_DATA_DIR": str(self.home / "data"),
        }
        for folder in (self.home / "conf", self.work):
            folder.mkdir(parents=True)

    @property
    def work(self) -> Path:
        return self.home / "work"

    def user(self, text: str, name: str = "config.yaml") -> Path:
        path = self.home / "conf" / name
        path.write_text(text, encoding="utf-8")
        return path

    def project(self, text: str, name: str = "halflap.yaml") -> Path:
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        return path

    def load(self, path: Path | str | None = None, **environ: str) -> Config:
        return load_config(path, environ={**self.environ, **environ}, cwd=self.work)

    def problems(self, text: str | None = None, **environ: str) -> tuple[ConfigProblem, ...]:
        """Return the problems that are raised, or else those of single servers."""
        if text is not None:
            self.user(text)
        try:
            servers = self.load(**environ).servers
        except ConfigError as error:
            return error.problems
        return tuple(problem for server in servers for problem in server.problems)

    def problem(self, text: str | None = None, **environ: str) -> ConfigProblem:
        (problem,) = self.problems(text, **environ)
        return problem


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "home")
