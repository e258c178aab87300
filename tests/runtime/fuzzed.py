"""Requests that no client should send, and files that were damaged on their way, from a seed."""

import json

import tsgrad as tg
from tsgrad_runtime import BadInput, read_artefact
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger

WORDS = [
    "",
    "x" * 300,
    "../../etc/passwd",
    "%00",
    "' OR 1=1 --",
    "<script>",
    "\ud800".encode("utf-8", "replace").decode(),
    "a%00b",
    "%ED%A0%80",  # half of a surrogate pair
]
VALUES = [None, True, -1, 0, 1, 10**400, 1e308, "1", "NaN", [], [[]], {}, {"a": {"b": []}}, [[1e400]], "\x00", 0.5]
VALUES += ["\ud800", "a\x00", ["\ud800"], ["a", "\x00"], {"\ud800": "\udfff"}]
ROUTES = [
    ("POST", "/v1/decisions"),
    ("POST", "/v1/decisions/{}/reward"),
    ("POST", "/v1/decisions/{}/activate"),
    ("POST", "/v1/arms"),
    ("DELETE", "/v1/arms/{}"),
    ("GET", "/v1/experiment"),
    ("GET", "/live"),
    ("GET", "/{}"),
]
FIELDS = ["context", "available", "users", "shown", "value", "name", "parameters", "__class__", "id", "\ud800", "\x00"]
TOKENS = ["Bearer to decide", "Bearer to rule", "Bearer to rule", "Bearer", "Basic x", "Basic eDp5", "nothing", ""]


def requests(generator, count):
    """(method, path, headers, content) of `count` requests."""

    def pick(options):
        return options[int(generator.integers(len(options)))]

    for _ in range(count):
        body = {pick(FIELDS): pick(VALUES) for _ in range(int(generator.integers(0, 4)))}
        content = json.dumps(body).encode()
        damage = generator.random()
        if damage < 0.2 and content:
            broken = bytearray(content)
            broken[int(generator.integers(len(broken)))] ^= 1 << int(generator.integers(8))
            content = bytes(broken)
        elif damage < 0.3:
            content = generator.bytes(int(generator.integers(0, 200)))
        elif damage < 0.35:
            content = b"[" * 5000
        method, path = pick(ROUTES)
        if generator.random() < 0.1:
            method = pick(["POST", "GET", "DELETE", "PUT"])
        path = path.format(pick(WORDS).replace("\x00", "").replace("?", "").replace("#", ""))
        yield method, path, {"authorization": pick(TOKENS)}, content


def whole_files(folder, generator):
    """A policy file, a log and a ledger, each with who reads it."""
    policy, log, ledger = (folder / name for name in ("policy.json", "log.csv", "kept.db"))
    tg.write_policy(policy, tg.Thompson(), problem=tg.BernoulliBandit(arms=3), horizon=100)
    rows = (f"{row % 8},{int(generator.random() < (row % 8 + 1) / 9)}" for row in range(400))
    log.write_text("\n".join(["arm,reward", *rows]))
    opened = Ledger(f"sqlite:///{ledger}")
    experiment = Experiment(artefact_of(json.loads(policy.read_text()), "fuzz"), opened)
    decides = experiment.agent.artefact.name
    for number in range(60):
        experiment.append([Event("decision", 1.0, str(number), str(number % 3), 1 / 3, policy=decides)])
        experiment.append([Event("reward", 2.0, str(number), reward=float(number % 2))])
    opened.close()
    return {
        "policy.json": (policy, read_artefact),
        "log.csv": (log, lambda path: tg.fit_prior(path, family="bernoulli")),
        "ledger.db": (ledger, _inspected),
    }


def _inspected(path):
    ledger = Ledger(f"sqlite:///{path}", reading=True)
    try:
        return inspected(ledger)
    finally:
        ledger.close()


def is_refused(path, reader, generator):
    """Whether a damaged copy of a file is refused; an exception of another kind is a defect."""
    copy = path.with_name(f"damaged-{path.name}")
    copy.write_bytes(_damaged(path.read_bytes(), generator))
    try:
        reader(copy)
    except (BadInput, LedgerDown):
        return True
    finally:
        for left in path.parent.glob(f"{copy.name}*"):
            left.unlink(missing_ok=True)  # SQLite may have taken its own away meanwhile
    return False


def _damaged(content, generator):
    """Bytes with some replaced, and at times an end that is missing."""
    broken = bytearray(content)
    for _ in range(int(generator.integers(1, 6))):
        broken[int(generator.integers(len(broken)))] = int(generator.integers(256))
    return bytes(broken[: int(generator.integers(1, len(broken) + 1))] if generator.random() < 0.3 else broken)
