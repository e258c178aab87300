"""Checks data against a JSON schema: the few words of it that `policy.schema.json` uses."""

import sys
from typing import Any

from tsgrad_runtime.checks import BadInput

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}


def check_schema(name: str, value: Any, schema: dict[str, Any]) -> None:
    """Raises BadInput, which names the field, where the value is not what the schema says.

    >>> check_schema("horizon", "long", {"type": "integer"})
    Traceback (most recent call last):
    tsgrad_runtime.checks.BadInput: horizon must be of type integer, got 'long'
    """
    wanted = schema.get("type")
    if wanted is not None and (not isinstance(value, _TYPES[wanted]) or isinstance(value, bool)):
        raise BadInput(f"{name} must be of type {wanted}, got {value!r:.80}")
    if "enum" in schema and value not in schema["enum"]:
        raise BadInput(f"{name} must be one of {', '.join(map(str, schema['enum']))}, got {value!r:.80}")
    if "minimum" in schema and not value >= schema["minimum"]:
        raise BadInput(f"{name} must be at least {schema['minimum']}, got {value!r:.80}")
    if "maximum" in schema and not value <= schema["maximum"]:
        raise BadInput(f"{name} must be at most {schema['maximum']}, got {value!s:.40}")
    if wanted == "number" and not abs(value) <= sys.float_info.max:
        raise BadInput(f"{name} must be a finite float64 number, got {value!s:.40}")
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        raise BadInput(f"{name} must not be empty")
    if isinstance(value, dict):
        for key in schema.get("required", ()):
            if key not in value:
                raise BadInput(f"{name}: {key} is missing: write it again with Run.save or tsgrad.write_policy")
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                check_schema(f"{name}: {key}", value[key], inner)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            check_schema(f"{name}[{number}]", item, schema["items"])
