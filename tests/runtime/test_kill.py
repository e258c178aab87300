"""Services that are killed under load lose nothing that they have acknowledged."""

import asyncio
import random
import signal
import socket
import sys
from pathlib import Path

import pytest

from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from live_client import TOKEN, free_port, started, write_policy
from live_kill import one_life


@pytest.mark.long
def test_three_kills(tmp_path):
    """`benchmarks/live_kill.py` has 200 of them, on PostgreSQL too, and several services at once."""
    random.seed(0)
    write_policy(tmp_path / "policy.json")
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    acknowledged = {}
    for _ in range(3):
        asyncio.run(one_life(tmp_path / "policy.json", url, 1, acknowledged))
    ledger = Ledger(url)
    assert not inspected(ledger).faults
    events = [event for _, event in ledger.all_events()]
    assert set(acknowledged) <= {event.decision for event in events if event.kind == "decision"}
    paid = {event.decision: event.reward for event in events if event.kind == "reward"}
    for decision, value in acknowledged.items():
        assert value is None or paid[decision] == value
    ledger.close()


def test_a_client_that_never_ends_its_request_does_not_keep_a_service_that_is_told_to_end(tmp_path):
    write_policy(tmp_path / "policy.json")
    port = free_port()
    service = started(tmp_path / "policy.json", f"sqlite:///{tmp_path / 'ledger.db'}", port)
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = (f"authorization: Bearer {TOKEN}", "host: x", "content-length: 10")
        client.sendall("\r\n".join(("POST /v1/decisions HTTP/1.1", *head, "", "half")).encode())
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):  # the service has the request, and waits for the rest
            client.recv(1)
        service.send_signal(signal.SIGINT)
        try:
            assert service.wait(timeout=60) == 130
        finally:
            service.kill()
