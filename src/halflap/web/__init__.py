"""The web page: servers, tools, links, runs, plans, workflows and DSPy programs.

Read `page` first, the application that `halflap serve --http` mounts. `guard` and `signin` decide who gets in; `site` has
what every view needs: the gateway, the visitor's rights, and the templates. `views` has one module per page of the menu.
All data comes from `Gateway`; the page itself stores only who is signed in. Pages are rendered on the server and work
without JavaScript, except for the drawings.
"""

from halflap.web.page import WebPage
from halflap.web.signin import SignIn

__all__ = ["SignIn", "WebPage"]
