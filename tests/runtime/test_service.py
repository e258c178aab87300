"""The service: decisions and rewards over HTTP, tokens, limits, errors that name the field, a page without scripts."""

import asyncio
import json
import threading
import tracemalloc
from urllib.parse import quote

import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient

from tsgrad_runtime import BadInput
from tsgrad_runtime.admission import Tokens
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment, rebuilt
from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.service import application

TOKENS = Tokens("to decide", "to rule")
SCRIPT = "<script>alert(1)</script>"
CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [1.0] * 3, "beta": [1.0] * 3},
    "horizon": 1000,
    "arms": ["a", "b", SCRIPT],
}


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield opened
    opened.close()


@pytest.fixture
def client(ledger):
    app = application(Experiment(artefact_of(CONTENT, "test"), ledger), TOKENS)
    with TestClient(app, headers={"authorization": "Bearer to decide"}, raise_server_exceptions=False) as opened:
        yield opened


RULER = {"authorization": "Bearer to rule"}


def test_a_decision_and_its_reward(client, ledger):
    made = client.post("/v1/decisions")
    assert made.status_code == 201
    answer = made.json()
    assert answer["arm"] in CONTENT["arms"]
    assert abs(answer["propensity"] - 1 / 3) < 1e-6
    where = f"/v1/decisions/{answer['id']}/reward"
    assert client.post(where, json={"value": 1}).json() == {"counted": True}
    assert client.post(where, json={"value": 1}).json() == {"counted": False}
    assert client.post(where, json={"value": 0}).status_code == 409
    assert rebuilt(ledger).belief[0].sum() == 1
    known = client.get("/v1/experiment").json()
    assert (known["decisions"], known["rewards"]) == (1, 1)


def test_several_users_activation_and_masks(client):
    several = client.post("/v1/decisions", json={"users": 5, "available": ["a"]}).json()["decisions"]
    assert [(one["arm"], one["propensity"]) for one in several] == [("a", 1.0)] * 5
    hidden = client.post("/v1/decisions", json={"shown": False}).json()["id"]
    assert client.post(f"/v1/decisions/{hidden}/reward", json={"value": 1}).status_code == 409
    assert client.post(f"/v1/decisions/{hidden}/activate").json() == {"counted": True}
    assert client.post(f"/v1/decisions/{hidden}/reward", json={"value": 1}).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"users": 0}, "users"),
        ({"users": "many"}, "users"),
        ({"available": ["z"]}, "available"),
        ({"available": []}, "available"),
        ({"available": "a"}, "available"),
        ({"context": [[1.0]]}, "context"),
        ({"shown": "yes"}, "shown"),
        ({"anything": 1}, "anything"),
    ],
)
def test_errors_name_the_field(client, body, field):
    answer = client.post("/v1/decisions", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/v1/decisions/x/reward", {"value": 0.5}, "value"),
        ("POST", "/v1/decisions/x/reward", {"value": 10**400}, "value"),
        ("POST", "/v1/decisions/x/reward", {}, "value"),
        ("POST", "/v1/arms", {"name": "d", "parameters": {"gamma": 1}}, "parameters"),
        ("POST", "/v1/arms", {"name": "d", "parameters": {"alpha": -1}}, "parameters"),
        ("POST", "/v1/arms", {"name": "a"}, "name"),
        ("POST", "/v1/arms", {}, "name"),
        ("DELETE", "/v1/arms/nobody", None, "name"),
        ("DELETE", "/v1/arms/", None, "name"),
    ],
)
def test_errors_name_the_field_of_the_request_and_not_what_becomes_of_it(client, method, path, body, field):
    answer = client.request(method, path, json=body, headers=RULER)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


def test_the_last_arm_and_arms_that_are_withdrawn_name_their_fields(client):
    for name in ("a", "b"):
        assert client.delete(f"/v1/arms/{name}", headers=RULER).status_code == 200
    for answer, field in (
        (client.delete(f"/v1/arms/{quote(SCRIPT, safe='')}", headers=RULER), "name"),
        (client.post("/v1/decisions", json={"available": ["a", "b"]}), "available"),
    ):
        assert answer.status_code == 400
        assert answer.json()["error"]["field"] == field


def test_no_request_without_the_right_token_changes_anything(client, ledger):
    identity = client.post("/v1/decisions").json()["id"]
    asked = [
        ("POST", "/v1/decisions"),
        ("POST", f"/v1/decisions/{identity}/reward"),
        ("POST", f"/v1/decisions/{identity}/activate"),
        ("POST", "/v1/arms"),
        ("DELETE", "/v1/arms/a"),
        ("GET", "/v1/experiment"),
        ("GET", "/metrics"),
        ("GET", "/live"),
    ]
    for method, path in asked:
        for given in ("", "Bearer", "Bearer wrong", "Basic to decide", "bearer to", b"Bearer \xff"):
            answer = client.request(method, path, headers={"authorization": given}, content='{"value": 1, "name": "z"}')
            assert answer.status_code == 401, (path, given)
    for method, path in asked[3:5]:  # a token to decide does not rule
        assert client.request(method, path, content='{"name": "z"}').status_code == 403
    assert [event.kind for _, event in ledger.all_events()] == ["decision"]


def test_administrators_add_and_withdraw_arms(client):
    assert client.post("/v1/arms", json={"name": "d"}, headers=RULER).status_code == 201
    assert client.post("/v1/arms", json={"name": "d"}, headers=RULER).status_code == 400
    assert client.delete("/v1/arms/a", headers=RULER).json() == {"withdrawn": ["a"]}
    assert client.delete("/v1/arms/nobody", headers=RULER).status_code == 400


@pytest.mark.parametrize("name", ["a/b", "/", "a//", "ends/in/reward", "a b?c#d"])
def test_arms_of_any_name_can_be_withdrawn(client, name):
    """A name is all that follows in the path, slashes included."""
    assert client.post("/v1/arms", json={"name": name}, headers=RULER).status_code == 201
    answer = client.delete(f"/v1/arms/{quote(name, safe='')}", headers=RULER)
    assert answer.json() == {"withdrawn": [name]}


def test_a_decision_records_the_arms_that_could_be_played(client, ledger):
    """Not those that were asked for: None is where all could."""
    asked = [None, ["a", "b"], ["a", "b", SCRIPT]]
    for available in asked:
        client.post("/v1/decisions", json={"available": available})
    client.delete("/v1/arms/a", headers=RULER)
    for available in asked:
        client.post("/v1/decisions", json={"available": available})
    recorded = [event.available for _, event in ledger.all_events() if event.kind == "decision"]
    assert recorded == [None, ["a", "b"], None, ["b", SCRIPT], ["b"], ["b", SCRIPT]]
    assert not inspected(ledger).faults


def test_a_browser_opens_the_page_and_nothing_else(client):
    """Browsers send a password along with requests of other sites, too."""
    right, wrong, broken = (f"Basic {given}" for given in ("YW55Ym9keTp0byBkZWNpZGU=", "YW55Ym9keTpub3RoaW5n", "!"))
    assert client.get("/live", headers={"authorization": right}).status_code == 200
    for given in (wrong, broken, "", "Bearer nothing"):
        refused = client.get("/live", headers={"authorization": given})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic")
    for method, path in (("POST", "/v1/decisions"), ("GET", "/v1/experiment"), ("DELETE", "/v1/arms/a")):
        refused = client.request(method, path, headers={"authorization": right})
        assert refused.status_code == 401
        assert "www-authenticate" not in refused.headers


def test_the_page_runs_no_script_from_data(client):
    client.post("/v1/decisions", json={"available": [SCRIPT]})
    page = client.get("/live")
    assert "<script" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "tsgrad_decisions_total" in client.get("/metrics").text


def test_what_the_openapi_document_says_there_is(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            answer = client.request(method.upper(), path.format(id="x", name="x"), headers={"authorization": "x"})
            assert answer.status_code == (200 if path in ("/healthz", "/openapi.json") else 401)
    assert client.get("/nothing").status_code == 404
    assert client.get("/v1/decisions").status_code == 405


def counted(client):
    """How many answers there were so far, by status."""
    lines = [line for line in client.get("/metrics").text.splitlines() if line.startswith("tsgrad_answers_total")]
    return {int(line.split('"')[1]): int(line.split()[1]) for line in lines}


def test_an_error_of_the_service_is_told_in_json_logged_and_counted(client, monkeypatch, caplog):
    monkeypatch.setattr("tsgrad_runtime.endpoints.experiment_summary", lambda _: 1 / 0)
    answer = client.get("/v1/experiment")
    assert answer.status_code == 500
    assert answer.json() == {"error": {"message": "the service failed: its log says why"}}
    (record,) = caplog.records
    assert record.getMessage() == "GET '/v1/experiment' failed"
    assert record.exc_info[0] is ZeroDivisionError
    assert counted(client)[500] == 1


def test_what_is_not_there_is_counted_and_sent_nowhere_else(client):
    assert client.get("/nothing").status_code == 404
    wrong = client.put("/v1/decisions")
    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "POST"
    for path in ("/v1/decisions/", "/live/"):
        assert client.post(path, headers={"host": "evil.example"}, follow_redirects=False).status_code == 404
    assert (counted(client)[404], counted(client)[405]) == (3, 1)


def test_a_ledger_that_is_down_is_a_503_and_comes_back(client, ledger, monkeypatch):
    def down(*_):
        raise LedgerDown("connection lost")

    with monkeypatch.context() as broken:
        broken.setattr(ledger, "append", down)
        broken.setattr(ledger, "probe", down)
        answer = client.post("/v1/decisions")
        assert answer.status_code == 503
        assert "connection lost" in answer.json()["error"]["message"]
        health = client.get("/healthz")
        assert health.status_code == 503
        assert "connection" not in health.text  # nor are those without a token told why
    assert client.post("/v1/decisions").status_code == 201
    assert client.get("/healthz").status_code == 200
    assert len(list(ledger.all_events())) == 1


def test_decisions_of_one_request_are_all_in_the_ledger_or_none_is(client, ledger, monkeypatch):
    """More of them than requests share in a transaction; the second transaction failed, and half of them were there."""
    append, calls = ledger.append, []

    def once(events):
        calls.append(len(events))
        if len(calls) > 1:
            raise LedgerDown("connection lost")
        return append(events)

    with monkeypatch.context() as broken:
        broken.setattr(ledger, "append", once)
        assert len(client.post("/v1/decisions", json={"users": 1000}).json()["decisions"]) == 1000
        assert client.post("/v1/decisions", json={"users": 1000}).status_code == 503
    assert calls == [1000, 1000]
    assert len(list(ledger.all_events())) == 1000


def test_limits_of_size_and_rate(ledger):
    app = application(Experiment(artefact_of(CONTENT, "test"), ledger), TOKENS, rate=5)
    with TestClient(app, headers={"authorization": "Bearer to decide"}) as client:
        assert client.post("/v1/decisions", content=b" " * 70_000).status_code == 413
        assert 429 in {client.post("/v1/decisions").status_code for _ in range(30)}


@pytest.mark.parametrize("text", ["\ud800", "a\ud800b", "\x00", "a\x00"])
def test_text_that_cannot_be_written_is_refused(client, ledger, text):
    """JSON can say half of a surrogate pair, and NUL; UTF-8 can't hold the one, PostgreSQL's text not the other."""
    for body in ({text: 1}, {"available": [text]}, {"context": {text: 1}}):
        assert client.post("/v1/decisions", content=json.dumps(body)).status_code == 400
    assert client.post("/v1/arms", content=json.dumps({"name": text}), headers=RULER).status_code == 400
    paired = json.dumps({"name": "\U0001f600"}).encode()
    assert b"\\ud83d" in paired  # both halves, which are a character
    assert client.post("/v1/arms", content=paired, headers=RULER).status_code == 201
    assert "\U0001f600" in client.get("/live").text
    assert [event.arm for _, event in ledger.all_events()] == ["\U0001f600"]
    with pytest.raises(BadInput, match="arms must be a text"):
        artefact_of({**CONTENT, "arms": ["a", "b", text]}, "test")


@pytest.mark.parametrize("identity", ["%00", "a%00b", "%ED%A0%80", "%C3%A9"])
def test_ids_that_no_database_can_be_asked_for_are_not_known(client, ledger, monkeypatch, identity):
    monkeypatch.setattr(ledger, "append", lambda _: pytest.fail("it was asked for"))
    assert client.post(f"/v1/decisions/{identity}/reward", json={"value": 1}).status_code == 404
    assert client.post(f"/v1/decisions/{identity}/activate").status_code == 404


def at_once(app, *requests):
    """Answers to requests that are all under way before any of them is committed."""

    async def ask():
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://x") as one,
        ):
            return await asyncio.gather(*(one.request(*request, headers=RULER, **more) for request, more in requests))

    return asyncio.run(ask())


def test_arms_that_are_added_or_withdrawn_twice_at_once_do_no_harm(ledger):
    one = Experiment(artefact_of(CONTENT, "test"), ledger)
    arm = (("POST", "/v1/arms"), {"json": {"name": "d"}})
    assert sorted(answer.status_code for answer in at_once(application(one, TOKENS), arm, arm)) == [201, 409]
    withdrawals = [(("DELETE", f"/v1/arms/{name}"), {}) for name in ("a", "b", "d")]
    first = ledger.append([Event("withdrawal", 0.0, arm=SCRIPT)])
    assert first.outcomes == ["accepted"]
    answers = at_once(application(one, TOKENS), *withdrawals)
    assert sorted(answer.status_code for answer in answers) == [200, 200, 409]
    assert "came first" in next(answer for answer in answers if answer.status_code == 409).json()["error"]["message"]
    with TestClient(application(one, TOKENS), headers=RULER) as client:
        assert client.post("/v1/decisions").status_code == 201
    again = rebuilt(ledger)
    assert again.arms == one.agent.arms
    assert again.roster.withdrawn == one.agent.roster.withdrawn
    assert len(again.roster.withdrawn) == 3
    assert Experiment(artefact_of(CONTENT, "test"), ledger).agent.roster.withdrawn == again.roster.withdrawn


def test_renewals_go_on_after_any_error(ledger, monkeypatch):
    """The task that renews beliefs once ended with the first error that was not the ledger's own."""
    app = application(Experiment(artefact_of(CONTENT, "test"), ledger), TOKENS, renewal=0.01)
    with TestClient(app, headers={"authorization": "Bearer to decide"}) as client:

        def until(status):
            for _ in range(500):
                if client.get("/healthz").status_code == status:
                    return True
                client.portal.call(asyncio.sleep, 0.01)
            return False

        with monkeypatch.context() as broken:
            broken.setattr(ledger, "events", lambda *_, **__: 1 / 0)
            assert until(503)
        assert until(200)


def test_defaults_keep_up_with_decisions_and_the_loop_never_waits_for_the_ledger(ledger, monkeypatch):
    """1,300 decisions expire in one renewal, and the others' events are read: all of it in the committer's thread."""
    one = Experiment(artefact_of(CONTENT, "test"), ledger, wait=0.05)
    other = Experiment(artefact_of(CONTENT, "test"), ledger, wait=0.05)
    agent = other.agent
    made = [agent.propose(agent.scene()) for _ in range(1300)]
    other.append([Event("decision", agent.clock(), each.id, each.arm, 1 / 3) for each in made])
    used = {}
    for name in ("append", "events", "overdue", "probe"):
        method = getattr(ledger, name)

        def noted(*given, method=method, name=name):
            used.setdefault(name, set()).add(threading.current_thread().name.split("_")[0])
            return method(*given)

        monkeypatch.setattr(ledger, name, noted)
    app = application(one, TOKENS, renewal=0.2)
    with TestClient(app, headers={"authorization": "Bearer to decide"}) as client:
        for _ in range(100):
            if client.get("/v1/experiment").json()["defaults"] == 1300:
                break
            client.portal.call(asyncio.sleep, 0.05)
        else:
            pytest.fail("defaults were not counted")
    assert used["events"] == used["append"] == used["overdue"] == {"ledger"}
    np.testing.assert_array_equal(rebuilt(ledger).belief[0], one.agent.belief[0])


def test_refusals_keep_no_memory(client):
    def ask(count):
        for number in range(count):
            assert client.post(f"/v1/decisions/{number}/reward", json={"value": 1}).status_code == 404

    ask(50)
    tracemalloc.start()
    ask(50)
    before = tracemalloc.get_traced_memory()[0]
    ask(200)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200 * 500  # bytes; an exception that was raised again kept 4,000 of every time


REQUESTS = 400


def test_malformed_requests_are_refused_and_lose_nothing(client, ledger):
    """A seeded fuzzer; `benchmarks/live_fuzz.py` sends 10,000 of its requests."""
    from fuzzed import requests

    good = 0
    for method, path, headers, content in requests(np.random.default_rng(0), REQUESTS):
        answer = client.request(method, path, headers=headers, content=content)
        assert answer.status_code < 500, (method, path, content[:80])
        if answer.status_code >= 400:
            assert json.loads(answer.content)["error"]["message"]
        good += answer.status_code == 201
    assert client.post("/v1/decisions").status_code == 201
    assert sum(event.kind == "decision" for _, event in ledger.all_events()) >= good
    assert rebuilt(ledger).steps >= good
