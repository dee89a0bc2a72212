"""Delivery proof: which requests a server can have read."""

from __future__ import annotations

from halflap.upstream.connection import Connection


def test_a_request_that_the_server_left_unread_did_not_arrive() -> None:
    connection = Connection(sent={1: 0, 2: 100}, written=150, unread=50)
    assert connection.may_have_arrived(1)
    assert not connection.may_have_arrived(2)
    assert not connection.may_have_arrived(3)
    connection.unread = 49
    assert connection.may_have_arrived(2)
    assert Connection().may_have_arrived(1)
