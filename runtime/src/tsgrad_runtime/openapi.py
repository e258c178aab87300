"""The service described in OpenAPI's words: what can be asked, and what is answered."""

from importlib.metadata import version
from typing import Any

_NUMBER, _TEXT, _FLAG = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER_OR_NOT = {"type": ["number", "null"]}
_BASIC = {"type": "http", "scheme": "basic", "description": "for browsers: any user, a token as password"}
_PAGE, _METRICS = "text/html", "text/plain"
_ERRORS = {
    "400": "A field is not what it must be",
    "401": "No token of this service",
    "403": "Not the token of administrators",
    "404": "No such decision",
    "409": "Contradicts what happened",
    "413": "Too large",
    "429": "Too fast",
    "500": "The service failed",
    "503": "The ledger can't be written to: nothing was counted",
}


def openapi(most_users: int) -> dict[str, Any]:
    """The document, as data; `most_users` may be decided for at once."""
    identity = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    name = {**identity, "name": "name", "description": "all that follows in the path, slashes included"}
    arm_fields = {"name": {**_TEXT, "minLength": 1, "maxLength": 200}, "parameters": {"type": "object"}}
    reward = _operation("Reports a reward", _body({"value": _NUMBER}, ["value"]), [identity], answer=_named("Counted"))
    activate = _operation("Says that a choice was shown", _body({}), [identity], answer=_named("Counted"))
    add = _operation("Adds an arm (administrators)", _body(arm_fields, ["name"]), answer=_named("Arms"), status="201")
    withdraw = _operation("Withdraws an arm (administrators)", None, [name], answer=_named("Withdrawn"))
    page = _operation("The same as a page", answer=_TEXT, kind=_PAGE)
    health = _operation("Whether the service is well", answer=_named("Health"))
    document = _operation("This document", answer={"type": "object"})
    return {
        "openapi": "3.1.0",
        "info": {"title": "tsgrad", "version": version("tsgrad-runtime")},
        "security": [{"bearer": []}],
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "basic": _BASIC},
            "schemas": _SCHEMAS,
        },
        "paths": {
            "/v1/decisions": {"post": _decide(most_users)},
            "/v1/decisions/{id}/reward": {"post": reward},
            "/v1/decisions/{id}/activate": {"post": activate},
            "/v1/experiment": {"get": _operation("What is known so far", answer=_named("Experiment"))},
            "/v1/arms": {"post": add},
            "/v1/arms/{name}": {"delete": withdraw},
            "/live": {"get": {**page, "security": [{"bearer": []}, {"basic": []}]}},
            "/metrics": {"get": _operation("For Prometheus", answer=_TEXT, kind=_METRICS)},
            "/healthz": {"get": {**health, "security": []}},
            "/openapi.json": {"get": {**document, "security": []}},
        },
    }


def _decide(most_users: int) -> dict[str, Any]:
    fields = {
        "context": {
            "type": ["array", "null"],
            "items": _list(_NUMBER),
            "description": "features of the arms, [K, d], where the problem has contexts",
        },
        "available": {
            "type": ["array", "null"],
            "items": _TEXT,
            "description": "arms that can be played; all unless given",
        },
        "users": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": most_users,
            "description": "several decisions at once, in a list; one by itself unless given",
        },
        "shown": {**_FLAG, "description": "false for a choice that counts only once it is activated"},
    }
    either = {"oneOf": [_named("Decision"), _named("Decisions")]}
    return _operation("Decides for a user, or for several", _body(fields), answer=either, status="201")


def _object(fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """An object that has no other fields."""
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _whole(**fields: Any) -> dict[str, Any]:
    """An object that has all of these fields, and no others."""
    return _object(fields, list(fields))


def _body(fields: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    content = {"application/json": {"schema": _object(fields, required or [])}}
    return {"required": bool(required), "content": content}


def _named(schema: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_SCHEMAS = {
    "Decision": _whole(
        id=_TEXT,
        arm={
            "oneOf": [_TEXT, _list(_NUMBER)],
            "description": "the name of an arm, or a vector where every vector is one",
        },
        propensity=_NUMBER_OR_NOT,
    ),
    "Decisions": _whole(decisions=_list(_named("Decision"))),
    "Counted": _whole(counted={**_FLAG, "description": "false where it was known already"}),
    "Arms": _whole(arms=_list(_TEXT)),
    "Withdrawn": _whole(withdrawn=_list(_TEXT)),
    "Health": _whole(status={"const": "well"}),
    "Experiment": _whole(
        policy=_TEXT,
        horizon=_COUNT,
        decisions=_COUNT,
        rewards=_COUNT,
        defaults=_COUNT,
        average=_NUMBER_OR_NOT,
        expected={"type": ["object", "null"], "additionalProperties": _NUMBER},
        alarm={"type": ["string", "null"]},
        arms=_list(_named("Arm")),
    ),
    "Arm": _whole(
        name=_TEXT,
        withdrawn=_FLAG,
        decisions=_COUNT,
        rewards=_COUNT,
        average=_NUMBER_OR_NOT,
        believed={**_NUMBER_OR_NOT, "description": "the posterior mean; null where it depends on a context"},
        interval={"type": ["array", "null"], "items": _NUMBER, "minItems": 2, "maxItems": 2},
    ),
    "Error": _whole(error=_object({"message": _TEXT, "field": _TEXT}, ["message"])),
}


def _operation(
    summary: str,
    body: dict[str, Any] | None = None,
    parameters: list[Any] | None = None,
    *,
    answer: dict[str, Any],
    status: str = "200",
    kind: str = "application/json",
) -> dict[str, Any]:
    error = {"application/json": {"schema": _named("Error")}}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            status: {"description": "Done", "content": {kind: {"schema": answer}}},
            **{code: {"description": said, "content": error} for code, said in _ERRORS.items()},
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        operation["requestBody"] = body
    return operation
