"""Who may call what, and what is known about a tool's effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halflap.catalog import block_rule, matches, namespaced
from halflap.config import Profile
from halflap.core.errors import ToolBlockedError, ToolHeldError
from halflap.core.values import DSPY, OWN, Tool, has_shared_token, person_of

if TYPE_CHECKING:
    from halflap.catalog import Snapshot
    from halflap.config import Config, ExecutionConfig

__all__ = ["Policy"]

_NOTHING = Profile.model_construct(servers=())
"""The profile of someone whose token was revoked."""


class Policy:
    """The user's rules, and the servers' claims as far as the user trusts them."""

    def __init__(self, config: Config) -> None:
        self.access = config
        """The configuration of tokens and profiles. It may be replaced at any time; it is checked again right before a call is
        sent."""
        self._tools = config.tools
        self._execution = config.execution
        # Halflap derives the annotations of DSPy programs from the tools they may call.
        self._trusted = frozenset({DSPY, *(one.name for one in config.servers if one.trust_annotations)})

    # Who

    def profile_of(self, principal: str) -> Profile | None:
        """Return the profile of a principal; None if everything is allowed."""
        person, name = person_of(principal), self.access.profile
        if person is not None:
            entry = self.access.http.tokens.get(person)
            if entry is None:
                return _NOTHING
            name = entry.profile or name
        elif has_shared_token(principal) and self.access.http.tokens:
            return _NOTHING
        return None if name is None else self.access.profiles[name]

    def limits_of(self, principal: str) -> ExecutionConfig:
        """Return the limits of a principal's programs."""
        profile = self.profile_of(principal)
        return self._execution if profile is None else profile.applied_to(self._execution)

    def serves(self, server: str, profile: Profile | None) -> bool:
        """Return whether a server exists for a profile."""
        return profile is None or matches(server, profile.servers) is not None

    def names(self, tool: Tool, profile: Profile | None) -> bool:
        """Return whether a profile names a tool, prompt or resource, whatever it does."""
        return profile is None or (
            self.serves(tool.server, profile) and matches(tool.name, profile.tools) is not None
        )

    def shows(self, tool: Tool, profile: Profile | None) -> bool:
        """Return whether a tool exists for a profile."""
        is_harmless = profile is None or not profile.read_only or self._is_harmless(tool)
        return is_harmless and self.names(tool, profile)

    # What

    def admit(self, tool: Tool, snapshot: Snapshot, profile: Profile | None) -> None:
        """Raise if a tool is blocked, left out of the profile, or held back because its definition changed."""
        if not self.shows(tool, profile):
            raise ToolBlockedError(tool.name, "the profile")
        self.admit_feature(tool, snapshot, profile)

    def admit_feature(self, feature: Tool, snapshot: Snapshot, profile: Profile | None) -> None:
        """Do the same for a prompt or resource. Reading them changes nothing, so read-only profiles may."""
        rule = block_rule(feature, self._tools) if self.names(feature, profile) else "the profile"
        if rule is not None:
            raise ToolBlockedError(feature.name, rule)
        if feature.name in snapshot.held:
            raise ToolHeldError(feature.name, snapshot.changed.get(feature.name, ()))

    def kept_out_of_programs(self, tool: Tool) -> str | None:
        """Return why no program may call the tool, to follow its name; None if programs may."""
        if not self._execution.read_only or self._is_harmless(tool):
            return None
        return (
            "is not known to be read-only, and with `execution.read_only` programs can call no other tools. The user "
            "can list it under `tools.read_only`."
        )

    def _is_harmless(self, tool: Tool) -> bool:
        # The calls that a script or DSPy program makes are checked themselves.
        is_ours = tool.server in OWN and not self.is_destructive(tool)
        return is_ours or self.is_read_only(tool)

    def is_destructive(self, tool: Tool) -> bool:
        """Return whether the tool is destructive according to the user or to its server, trusted or not."""
        if self._user_says_destructive(tool):
            return True
        return tool.annotations.destructive is True and not self.is_read_only(tool)

    def is_read_only(self, tool: Tool) -> bool:
        """Return whether the tool is known to change nothing."""
        if self._user_says_destructive(tool):
            return False
        if matches(tool.name, self._tools.read_only) is not None:
            return True
        return self.is_trusted(tool) and tool.annotations.read_only is True

    def changes(self, tool: Tool) -> bool | None:
        """Return whether the tool changes something; None if that is unknown."""
        if self.is_read_only(tool):
            return False
        return True if tool.annotations.read_only is False or self.is_destructive(tool) else None

    def is_repeatable(self, tool: Tool) -> bool:
        """Return whether calling the tool twice is known to be harmless."""
        if self.is_read_only(tool):
            return True
        is_idempotent = self.is_trusted(tool) and tool.annotations.idempotent is True
        return is_idempotent and not self._user_says_destructive(tool)

    def _user_says_destructive(self, tool: Tool) -> bool:
        # Also under the name that it would have without a collision: a rename must not lift a restriction.
        names = (tool.name, namespaced(tool.server, tool.original_name))
        return any(matches(name, self._tools.destructive) is not None for name in names)

    def voucher(self, tool: Tool) -> Literal["user", "server"] | None:
        """Return whose claim about the tool's effects counts."""
        if self._user_says_destructive(tool) or matches(tool.name, self._tools.read_only) is not None:
            return "user"
        return "server" if self.is_trusted(tool) or self.is_destructive(tool) else None

    def is_trusted(self, tool: Tool) -> bool:
        """Return whether the annotations of the tool's server count."""
        return tool.server in self._trusted
