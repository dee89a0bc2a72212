"""Signing in during a call: the client shows the person a link (URL elicitation)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from halflap.core.errors import ClientRefusedError, SignInError, SignInNeededError
from halflap.core.values import CallContext, person_of

if TYPE_CHECKING:
    from halflap.upstream.signin.redirect import Redirect
    from halflap.upstream.signin.signin import SignIn

__all__ = ["can_open_links", "sign_in_through_client"]

_METHOD = "elicitation/create"


def can_open_links(context: CallContext) -> bool:
    """Return whether the client can show the person a link that leads back to this machine.

    Not where several people share the gateway: one could let another sign in, and get their tokens.
    """
    if context.client is None or person_of(context.principal) is not None:
        return False
    elicitation = context.client.capabilities.get("elicitation")
    return isinstance(elicitation, dict) and "url" in elicitation


async def sign_in_through_client(sign_in: SignIn, context: CallContext) -> None:
    client = context.client
    assert client is not None

    async def show(url: str, _: Redirect) -> None:
        question = {
            "mode": "url",
            "message": f"Sign in to {sign_in.server.name}. The call goes on after that.",
            "url": url,
            "elicitationId": secrets.token_urlsafe(12),
        }
        answers = await client.ask({"sign-in": {"method": _METHOD, "params": question}})
        if answers["sign-in"].get("action") != "accept":
            raise SignInError("The sign-in was declined.")

    try:
        await sign_in.sign_in(show)
    except (SignInError, ClientRefusedError) as error:
        message = f"{str(error).rstrip('.')}. To sign in without the client, run `{sign_in.command}`."
        raise SignInNeededError(sign_in.server.name, message) from error
