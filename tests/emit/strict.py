"""A published CRD schema as a strict checker: a key the schema does not name is an error, as it is to `kubectl apply --validate=strict`."""

from typing import Any

import jsonschema


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Structural schema -> JSON Schema that refuses unknown keys; Kubernetes' own extensions put in words JSON Schema knows."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {
        key: value
        for key, value in schema.items()
        if not key.startswith("x-") and key not in ("properties", "items", "additionalProperties", "nullable", "format")
    }
    if "properties" in schema:
        made["properties"] = {name: strict(value) for name, value in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = strict(schema["additionalProperties"])
    elif "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made["additionalProperties"] = False
    if "items" in schema:
        made["items"] = strict(schema["items"])
    if schema.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def problems(schema: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """What a document says that the schema does not allow; `metadata` is Kubernetes' own and checked elsewhere."""
    root = strict(schema)
    root.setdefault("properties", {}).update({"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}})
    validator = jsonschema.Draft202012Validator(root)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:160]}" for error in validator.iter_errors(document)]


def trimmed(schema: dict[str, Any], documents: list[Any]) -> dict[str, Any]:
    """The part of a schema that some documents touch: small enough to keep in the tests."""
    made = {key: value for key, value in schema.items() if key not in ("properties", "items", "description")}
    if "properties" in schema:
        touched = [document for document in documents if isinstance(document, dict)]
        names = {name for document in touched for name in document} | set(schema.get("required", []))
        made["properties"] = {
            name: trimmed(value, [document[name] for document in touched if name in document]) for name, value in schema["properties"].items() if name in names
        }
    if "items" in schema:
        made["items"] = trimmed(schema["items"], [item for document in documents if isinstance(document, list) for item in document])
    return made
