"""Configuration: the user's file and trusted project files become one frozen `Config`.

Read `models` first: every setting with its default and documentation. A file is parsed (`syntax`), its `${VAR}` are
expanded (`expand`), and the models validate it (`reader`, which maps each error to its line). `servers` reads entries
of upstream servers, `project` keeps the record of trusted project files, and `load` combines everything. A wrong setting
raises `ConfigError`; a wrong server entry disables only that server (`ServerConfig.problems`).
"""

from halflap.config.expand import Scope
from halflap.config.load import Config, load_config, user_file
from halflap.config.models import (
    ExecutionConfig,
    FrontConfig,
    HttpConfig,
    LintConfig,
    LintIgnore,
    LmConfig,
    Profile,
    ProgramsConfig,
    Record,
    ToolsConfig,
    TracesConfig,
    token_hash,
)
from halflap.config.paths import home_dir, path_from, user_config_dir, user_data_dir, working_folder
from halflap.config.project import (
    PROJECT_FILES,
    forget_project_file,
    preview,
    read_project_file,
    trust_project_file,
)
from halflap.config.servers import ServerConfig, is_halflap

__all__ = [
    "PROJECT_FILES",
    "Config",
    "ExecutionConfig",
    "FrontConfig",
    "HttpConfig",
    "LintConfig",
    "LintIgnore",
    "LmConfig",
    "Profile",
    "ProgramsConfig",
    "Record",
    "Scope",
    "ServerConfig",
    "ToolsConfig",
    "TracesConfig",
    "forget_project_file",
    "home_dir",
    "is_halflap",
    "load_config",
    "path_from",
    "preview",
    "read_project_file",
    "token_hash",
    "trust_project_file",
    "user_config_dir",
    "user_data_dir",
    "user_file",
    "working_folder",
]
