"""Requests that no client should send, from a seed."""

import json

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
PATHS = ["/v1/decisions", "/v1/decisions/{}/reward", "/v1/decisions/{}/activate", "/v1/arms", "/v1/experiment", "/{}"]
FIELDS = ["context", "available", "users", "shown", "value", "name", "parameters", "__class__", "id", "\ud800", "\x00"]
TOKENS = ["Bearer to decide", "Bearer to decide", "Bearer to rule", "Bearer", "nothing", ""]


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
        path = pick(PATHS).format(pick(WORDS).replace("\x00", "").replace("?", "").replace("#", ""))
        yield pick(["POST", "POST", "POST", "GET", "DELETE", "PUT"]), path, {"authorization": pick(TOKENS)}, content
