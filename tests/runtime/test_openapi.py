"""What the service answers is what its OpenAPI document says, and what the document refuses the service refuses."""

import jsonschema
import pytest
from starlette.testclient import TestClient

from tsgrad_runtime.admission import Tokens
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.service import application

CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [1.0] * 3, "beta": [1.0] * 3},
    "horizon": 1000,
    "arms": ["a", "b", "c"],
    "expected": {"regret": 12.0},
}
BALL = {
    "policy": {"kind": "thompson"},
    "problem": {
        "kind": "ball",
        "prior_mean": [0.0, 0.0],
        "prior_covariance": [[1.0, 0.0], [0.0, 1.0]],
        "noise_std": 1.0,
    },
    "horizon": 10,
}
REWARD, ARM = "/v1/decisions/{id}/reward", "/v1/arms/{name}"


class Documented:
    """A client that compares every answer with the document."""

    def __init__(self, client):
        self.client, self.document = client, client.get("/openapi.json").json()

    def validator(self, schema):
        return jsonschema.Draft202012Validator({**schema, "components": self.document["components"]})

    def ask(self, method, path, body=None, *, status, token="to rule", **names):
        """Asks, and returns the answer, which must be as it is described."""
        where = path.format(**names) if names else path
        headers = {"authorization": f"Bearer {token}"}
        answer = self.client.request(method, where, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        (kind, content), *others = self.document["paths"][path][method.lower()]["responses"][str(status)][
            "content"
        ].items()
        assert not others
        assert answer.headers["content-type"].split(";")[0] == kind
        self.validator(content["schema"]).validate(answer.json() if kind == "application/json" else answer.text)
        return answer

    def allows(self, method, path, body):
        """Whether the document allows a body."""
        described = self.document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
        return self.validator(described).is_valid(body)


@pytest.fixture
def served(tmp_path):
    opened = []

    def serve(content):
        opened.append(Ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
        app = application(Experiment(artefact_of(content, "test"), opened[-1]), Tokens("to decide", "to rule"))
        client = TestClient(app, raise_server_exceptions=False)
        opened.append(client.__enter__())
        return Documented(client)

    yield serve
    ledger, client = opened
    client.__exit__(None, None, None)
    ledger.close()


def test_answers_are_as_they_are_described(served):
    service = served(CONTENT)
    for schema in service.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    identity = service.ask("POST", "/v1/decisions", status=201).json()["id"]
    assert len(service.ask("POST", "/v1/decisions", {"users": 3}, status=201).json()["decisions"]) == 3
    hidden = service.ask("POST", "/v1/decisions", {"shown": False, "available": ["a"]}, status=201).json()["id"]
    service.ask("POST", "/v1/decisions/{id}/activate", status=200, id=hidden)
    for value, status in ((1, 200), (1, 200), (0, 409), (0.5, 400)):
        service.ask("POST", REWARD, {"value": value}, status=status, id=identity)
    service.ask("POST", REWARD, {"value": 1}, status=404, id="nobody")
    service.ask("POST", "/v1/arms", {"name": "d", "parameters": {"alpha": 2}}, status=201)
    service.ask("DELETE", ARM, status=200, name="d")
    service.ask("POST", "/v1/arms", {"name": "e"}, status=403, token="to decide")
    for path in ("/v1/experiment", "/live", "/metrics"):
        service.ask("GET", path, status=200)
        service.ask("GET", path, status=401, token="wrong")
    service.ask("GET", "/healthz", status=200)
    service.ask("GET", "/openapi.json", status=200)
    service.ask("POST", "/v1/decisions", {"available": [" " * 70_000]}, status=413)


def test_vectors_that_are_arms_are_described(served):
    service = served(BALL)
    assert len(service.ask("POST", "/v1/decisions", status=201).json()["arm"]) == 2
    service.ask("GET", "/v1/experiment", status=200)


def test_errors_of_the_ledger_and_of_the_service_are_described(served, monkeypatch):
    service = served(CONTENT)
    monkeypatch.setattr("tsgrad_runtime.endpoints.experiment_summary", lambda _: 1 / 0)
    service.ask("GET", "/v1/experiment", status=500)
    monkeypatch.setattr("tsgrad_runtime.committer.MOST_WAITING", 0)
    service.ask("POST", "/v1/decisions", status=503)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/decisions", {"users": 1001}),
        ("/v1/decisions", {"users": 0}),
        ("/v1/decisions", {"shown": None}),
        ("/v1/decisions", {"available": "a"}),
        ("/v1/decisions", {"nothing": 1}),
        (REWARD, {}),
        (REWARD, {"value": "1"}),
        ("/v1/arms", {}),
        ("/v1/arms", {"name": ""}),
        ("/v1/arms", {"name": "x" * 201}),
    ],
)
def test_what_the_document_refuses_the_service_refuses(served, path, body):
    service = served(CONTENT)
    assert not service.allows("POST", path, body)
    service.ask("POST", path, body, status=400, **({"id": "x"} if "{" in path else {}))


@pytest.mark.parametrize(
    "body", [{}, {"users": None, "available": None, "context": None}, {"users": 1000}, {"shown": True}]
)
def test_what_the_document_allows_the_service_takes(served, body):
    service = served(CONTENT)
    assert service.allows("POST", "/v1/decisions", body)
    service.ask("POST", "/v1/decisions", body, status=201)
