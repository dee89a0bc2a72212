"""One module per page of the menu. Each has `ROUTES`: its paths and the coroutines that answer them.

A coroutine whose name begins with `post_` handles POST, all others GET.
"""

from halflap.web.views import (
    background,
    catalogue,
    composing,
    history,
    link_graph,
    nets,
    overview,
    saved_programs,
)

VIEWS = (overview, catalogue, link_graph, history, composing, nets, saved_programs, background)
