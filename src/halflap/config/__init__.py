"""Files, environment and flags become one frozen Config."""

from halflap.config.linting import LintConfig, LintIgnore
from halflap.config.load import Config, load_config
from halflap.config.places import user_config_dir, user_data_dir
from halflap.config.programs import LmConfig, ProgramsConfig
from halflap.config.project import (
    ProjectFile,
    find_project_files,
    forget_project_file,
    preview,
    trust_project_file,
)
from halflap.config.settings import (
    ExecutionConfig,
    FrontConfig,
    GraphConfig,
    HttpConfig,
    LearningConfig,
    Record,
    ServerConfig,
    StoreConfig,
    ToolsConfig,
    TracesConfig,
    TtlConfig,
    UpstreamDefaults,
    WorkflowsConfig,
)

__all__ = [
    "Config",
    "ExecutionConfig",
    "FrontConfig",
    "GraphConfig",
    "HttpConfig",
    "LearningConfig",
    "LintConfig",
    "LintIgnore",
    "LmConfig",
    "ProgramsConfig",
    "ProjectFile",
    "Record",
    "ServerConfig",
    "StoreConfig",
    "ToolsConfig",
    "TracesConfig",
    "TtlConfig",
    "UpstreamDefaults",
    "WorkflowsConfig",
    "find_project_files",
    "forget_project_file",
    "load_config",
    "preview",
    "trust_project_file",
    "user_config_dir",
    "user_data_dir",
]
