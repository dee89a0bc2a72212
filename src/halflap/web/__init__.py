"""The web page: servers, tools, links, runs, plans, workflows and DSPy programs, for people who would rather look.

Read `page` first: it lists every path, and is the application that `halflap serve --http` mounts. `guard` and `signin`
decide who gets in; `site` is what every view uses: the gateway, the rights of whoever is looking, and the templates.
`views` has one module per page of the menu. Everything shown comes from `Gateway`; the page keeps no data of its own
except who is signed in. Pages are made on the server and work without JavaScript, except for drawings.
"""

from halflap.web.page import WebPage
from halflap.web.signin import SignIn

__all__ = ["SignIn", "WebPage"]
