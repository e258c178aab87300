"""The service described in OpenAPI's words."""

from importlib.metadata import version
from typing import Any

_NUMBER, _TEXT, _FLAG = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
_BASIC = {"type": "http", "scheme": "basic", "description": "for browsers: any user, a token as password"}
_DECISION = {
    "type": "object",
    "properties": {"id": _TEXT, "arm": {}, "propensity": {"type": ["number", "null"]}},
    "required": ["id", "arm", "propensity"],
}
_ERRORS = {
    "400": "A field is not what it must be",
    "401": "No token of this service",
    "403": "Not the token of administrators",
    "404": "No such decision",
    "409": "Contradicts what happened",
    "413": "Too large",
    "429": "Too fast",
    "503": "The ledger can't be written to: nothing was counted",
}


def openapi() -> dict[str, Any]:
    """The document, as data."""
    identity = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    name = {**identity, "name": "name"}
    decide = {
        "context": {"type": "array", "description": "features of the arms, [K, d], where the problem has contexts"},
        "available": {"type": "array", "items": _TEXT, "description": "arms that can be played; all unless given"},
        "users": {"type": "integer", "minimum": 1, "description": "several decisions at once"},
        "shown": {**_FLAG, "description": "false for a choice that counts only once it is activated"},
    }
    arm = {"name": _TEXT, "parameters": {"type": "object"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tsgrad", "version": version("tsgrad-runtime")},
        "security": [{"bearer": []}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "basic": _BASIC}},
        "paths": {
            "/v1/decisions": {"post": _operation("Decides for a user", decide, answer=_DECISION, status="201")},
            "/v1/decisions/{id}/reward": {"post": _operation("Reports a reward", {"value": _NUMBER}, [identity])},
            "/v1/decisions/{id}/activate": {"post": _operation("Says that a choice was shown", {}, [identity])},
            "/v1/experiment": {"get": _operation("What is known so far")},
            "/v1/arms": {"post": _operation("Adds an arm (administrators)", arm, status="201")},
            "/v1/arms/{name}": {"delete": _operation("Withdraws an arm (administrators)", None, [name])},
            "/live": {"get": {**_operation("The same as a page"), "security": [{"bearer": []}, {"basic": []}]}},
            "/metrics": {"get": _operation("For Prometheus")},
            "/healthz": {"get": {**_operation("Whether the service is well"), "security": []}},
        },
    }


def _operation(
    summary: str,
    fields: dict[str, Any] | None = None,
    parameters: list[Any] | None = None,
    *,
    answer: dict[str, Any] | None = None,
    status: str = "200",
) -> dict[str, Any]:
    content = {"application/json": {"schema": answer or {}}}
    responses: dict[str, Any] = {code: {"description": said} for code, said in _ERRORS.items()}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {status: {"description": "Done", "content": content}, **responses},
    }
    if parameters:
        operation["parameters"] = parameters
    if fields is not None:
        schema = {"type": "object", "properties": fields, "additionalProperties": False}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation
