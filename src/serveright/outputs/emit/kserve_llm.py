"""KServe LLMInferenceService: KServe starts vLLM itself, joins nodes, routes by load and cached prefix, and keeps prefill apart."""

import shlex
from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.outputs.emit.parts.yaml_text import clean, dump
from serveright.types.deployment import Deployment, Emitted, Role, flag_words
from serveright.types.text import msg

TITLE = msg("KServe LLMInferenceService")
RELEASE = msg("KServe serving.kserve.io/v1alpha2 LLMInferenceService (schema of 2026-08-21)")
SIZES = {
    "--tensor-parallel-size": "tensor",
    "--pipeline-parallel-size": "pipeline",
    "--data-parallel-size": "data",
    "--enable-expert-parallel": "expert",
}
"""Over several nodes KServe writes these flags itself, from `parallelism`."""
ARGUMENTS = "VLLM_ADDITIONAL_ARGS"
"""KServe's templates put this variable behind the model; they bring certificates and the port."""


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One LLMInferenceService."""
    words.only(deployment, "kserve-llm", "vllm")
    words.untiered(deployment, "kserve-llm")
    above = words.comments(deployment, say, [RELEASE, msg("KServe's own templates start the server; the flags stand in {name}", name=ARGUMENTS)])
    text = dump(objects.claim(deployment, True), _service(deployment), above=above)
    yield Emitted(name=f"{deployment.name}-llm.yaml", text=text, checked_by="serving.kserve.io_v1alpha2_LLMInferenceService")


def _service(deployment: Deployment) -> dict[str, Any]:
    prefill = next((other for other in deployment.roles if other.name == "prefill"), None)
    spec = {
        "model": {"uri": _uri(deployment.model), "name": deployment.served_name},
        **_workload(deployment, deployment.role),
        "prefill": _workload(deployment, prefill) if prefill else None,
    }
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": objects.metadata(deployment),
        "spec": {**clean(spec), "router": {"route": {}, "gateway": {}, "scheduler": {}}},
    }


def _uri(model: str) -> str:
    return f"pvc://{model.lstrip('/')}" if model.startswith("/") else f"hf://{model}"


def _workload(deployment: Deployment, role: Role) -> dict[str, Any]:
    made: dict[str, Any] = {
        "replicas": role.copies,
        "labels": pod.labels(deployment, role),
        "annotations": pod.scrape(deployment),
        "template": _pod(deployment, role),
    }
    if role.nodes > 1:
        parallel = role.parallel
        made["parallelism"] = {
            "tensor": parallel.tp if parallel.tp > 1 else None,
            "pipeline": parallel.pp if parallel.pp > 1 else None,
            "data": parallel.dp if parallel.dp > 1 else None,
            "dataLocal": parallel.dp // role.nodes if parallel.dp >= role.nodes > 1 else None,
            "expert": True if parallel.ep > 1 else None,
        }
        made["worker"] = _pod(deployment, role)
    return made


def _pod(deployment: Deployment, role: Role) -> dict[str, Any]:
    flags = tuple(flag for flag in role.launch.flags if role.nodes == 1 or flag.flag not in SIZES)
    engine = pod.container(deployment, role, [], [])
    engine["name"] = "main"
    engine["env"] = [{"name": ARGUMENTS, "value": shlex.join(flag_words(flags))}, *engine["env"]]
    del engine["ports"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        engine[probe] = {**engine[probe], "httpGet": {**engine[probe]["httpGet"], "scheme": "HTTPS"}}
    return pod.spec(deployment, engine)
