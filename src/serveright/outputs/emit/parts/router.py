"""The routers' own words: `vllm-router` and `sglang_router`, as their released command lines have them (0.1.17 and 0.3.2)."""

from collections.abc import Sequence

from serveright.types.deployment import Deployment, Router
from serveright.types.text import Msg, msg

PROGRAM = {"vllm-router": ("vllm-router",), "sglang-router": ("python3", "-m", "sglang_router.launch_router")}
APART = {"vllm-router": "--vllm-pd-disaggregation", "sglang-router": "--pd-disaggregation"}
IMAGE = "python:3.12-slim"
"""The routers are wheels without heavy dependencies; any Python image runs them."""
WHY = msg("the engine's own router: a conversation returns to the copy that still has its cache")


def start(router: Router, host: str, port: str) -> list[str]:
    """Program and the words every topology has."""
    return [*PROGRAM[router.name], "--host", host, "--port", port, "--policy", router.policy]


def to_urls(router: Router, urls: Sequence[str], host: str, port: str) -> list[str]:
    """In front of copies at known addresses."""
    return [*start(router, host, port), "--worker-urls", *urls]


def apart(router: Router, prefill: Sequence[str], decode: Sequence[str], host: str, port: str, bootstrap: int | None) -> list[str]:
    """In front of prefill and decode servers at known addresses."""
    words = [*start(router, host, port), APART[router.name], *_transfer(router)]
    for url in prefill:
        words += ["--prefill", url, *([str(bootstrap)] if bootstrap else [])]
    for url in decode:
        words += ["--decode", url]
    return words


def discovering(deployment: Deployment, router: Router, namespace: str) -> list[str]:
    """In a cluster: finds the pods by their labels."""
    words = [*start(router, "0.0.0.0", str(router.port)), "--service-discovery", "--service-discovery-port", str(deployment.port)]
    words += ["--service-discovery-namespace", namespace]
    if not deployment.disaggregated:
        return [*words, "--selector", f"app={deployment.name}", "serveright/role=serve"]
    words += [APART[router.name], *_transfer(router)]
    for role in ("prefill", "decode"):
        words += [f"--{role}-selector", f"app={deployment.name}", f"serveright/role={role}"]
    return words


def _transfer(router: Router) -> list[str]:
    return ["--kv-connector", router.transfer] if router.name == "vllm-router" and router.transfer else []


def install_and_run(router: Router, words: Sequence[str]) -> str:
    """Shell text for a plain Python image."""
    import shlex

    return f"pip install --no-cache-dir {router.name}=={router.version} && exec {shlex.join(words)}"


def note(router: Router) -> Msg:
    """For the comments of a file."""
    return msg("{router} {version}: {why}", router=router.name, version=router.version, why=WHY)
