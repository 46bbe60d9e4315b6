"""Kubernetes-like YAML -> engine starts: any mapping that looks like a container, whatever custom resource holds it.

Covers Deployment, StatefulSet, Pod, Job, LeaderWorkerSet, KServe InferenceService and LLMInferenceService, RayService, Dynamo graphs and Helm values of
llm-d and the vLLM production stack. Charts must be rendered: `{{ }}` stays unread.
"""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from serveright.readers.config_maps import ConfigMaps
from serveright.readers.images import Image, read_image
from serveright.readers.invocation import Start, starts_in_container
from serveright.readers.placed import Placed
from serveright.readers.shell import Script, Value
from serveright.readers.yaml_tree import Node, get, items, pairs, place, placed, plain, text, walk, word
from serveright.types.command import Word
from serveright.types.text import Msg, msg
from serveright.units import parse_whole

_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu", "nvidia.com/gpu.shared")
_GPU_LABELS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "accelerator",
    "gpu.nvidia.com/class",
    "node.coreweave.cloud/class",
    "eks.amazonaws.com/instance-gpu-name",
    "karpenter.k8s.aws/instance-gpu-name",
    "ai-accelerator",
    "beta.amd.com/gpu.device-name",
    "amd.com/gpu.product-name",
)
_ARGUMENT_VARIABLES = ("VLLM_ADDITIONAL_ARGS", "VLLM_ARGS", "SGLANG_ARGS")
_PARALLELISM = {
    "tensor": "--tensor-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
    "dataLocal": "--data-parallel-size-local",
    "expert": "--enable-expert-parallel",
}
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


class Deployment(Struct, frozen=True, kw_only=True):
    """An engine start with what the surrounding objects say about hardware, role and model."""

    start: Start
    gpu: str | None = None
    gpu_count: int | None = None
    nodes: int = 1
    copies: int = 1
    role: str = "aggregated"
    model: Word | None = None


class Manifest:
    """One YAML document with the raw lines it came from."""

    def __init__(self, root: Node, lines: list[str], file: str, maps: ConfigMaps | None = None) -> None:
        self.root = root
        self.lines = lines
        self.file = file
        self.maps = maps or ConfigMaps((), lines, file)
        self.unread: list[Msg] = []

    def deployments(self) -> Iterator[Deployment]:
        """Every engine start of the document."""
        for node, path, above in walk(self.root):
            keys = {name for name, _, _ in pairs(node)}
            chain = (*above, node)
            if "engine_kwargs" in keys or "vllmConfig" in keys:
                start = self._settings(node, keys)
                if start is not None:
                    yield self._around(start, node, path, chain)
            elif keys & {"image", "args", "command", "modelCommand"} and keys & {"args", "command", "image", "modelCommand"} and "containers" not in keys:
                for start in self._container(node, chain):
                    yield self._around(start, node, path, chain)
            elif "serveConfigV2" in keys:
                yield from self._embedded(get(node, "serveConfigV2"))
            elif "patch" in keys and "containers" in (text(get(node, "patch")) or ""):
                yield from self._embedded(get(node, "patch"))
            elif path in (("spec",), ("spec", "prefill")) and text(get(self.root, "kind")) == "LLMInferenceService":
                yield from self._implied(node, path, chain)

    def _implied(self, workload: Node, path: tuple[str, ...], chain: tuple[Node, ...]) -> Iterator[Deployment]:
        """A workload of KServe's LLMInferenceService whose container says neither image nor arguments: the platform starts vLLM by itself."""
        container = next(iter(items(get(workload, "template", "containers"))), None)
        if any(get(container, key) is not None for key in ("image", "args", "command")) or get(self.root, "spec", "model", "uri") is None:
            return
        if any(get(workload, key) is not None for key in ("speculator", "speculativeDecoding")):
            self.unread.append(msg("speculation that KServe sets up by itself was not read"))
        around = tuple(node for node in (get(workload, "template"), container) if node is not None)
        env = {} if container is None else self._environment(container, chain)
        values = [extra for name in _ARGUMENT_VARIABLES if name in env for extra in _split(env[name])]
        values.extend(self._sizes(workload, chain, env))
        at = word(get(self.root, "spec", "model", "uri") or workload, self.file)
        for start in starts_in_container(tuple(values), Image("vllm", None, None, serves=True), env, at, 0, self.unread):
            yield self._around(start, workload, path, (*chain, *around))

    def _embedded(self, node: Node | None) -> Iterator[Deployment]:
        from serveright.readers.yaml_tree import documents

        if node is None or text(node) is None:
            return
        inner = placed(node, self.lines, self.file)
        found, unread = documents(inner.text)
        self.unread.extend(unread)
        first = inner.at(0)
        for document in found:
            manifest = Manifest(document, inner.text.splitlines(), self.file)
            for deployment in manifest.deployments():
                yield _moved(deployment, first.line - 1, first.column - 1)

    def _container(self, node: Node, chain: tuple[Node, ...]) -> list[Start]:
        env = self._environment(node, chain)
        image_node = get(node, "image")
        image_text = text(image_node) or (text(get(image_node, "repository")) if image_node is not None else None)
        tag = text(get(image_node, "tag")) if image_node is not None else None
        if image_text and tag:
            image_text = f"{image_text}:{tag}"
        image = read_image(image_text) if image_text else Image(None, None, None, serves=False)
        values = [*self._words(get(node, "command"), env), *self._words(get(node, "args"), env)]
        values.extend(extra for name in _ARGUMENT_VARIABLES if name in env for extra in _split(env[name]))
        if not values and image.engine is None:
            return []
        at = word(image_node, self.file) if image_node is not None and text(image_node) else Word("", place(node, self.file))
        values.extend(self._sizes(node, chain, env))
        served = image
        if text(get(node, "modelCommand")) == "vllmServe" or self._served_by_platform(node, chain):
            served = Image(image.engine or "vllm", image.version, image.tag, serves=True)
        unread: list[Msg] = []
        starts = starts_in_container(tuple(values), served, env, at, 0, unread)
        self.unread.extend(unread)
        import msgspec

        return [msgspec.structs.replace(start, image=image if image_text else None, image_text=image_text) for start in starts]

    def _served_by_platform(self, node: Node, chain: tuple[Node, ...]) -> bool:
        """KServe starts the server itself when a model is named and the container gives arguments only."""
        if get(node, "command") is not None or get(node, "args") is None:
            return False
        if any(get(above, "spec", "model", "uri") is not None for above in chain):
            return True
        format_name = (text(get(node, "modelFormat", "name")) or "").lower()
        return format_name in ("vllm", "huggingface")

    def _sizes(self, node: Node, chain: tuple[Node, ...], env: dict[str, Word]) -> list[Value]:
        """Parallel sizes that a platform writes as flags itself: `parallelism` of KServe's LLMInferenceService."""
        workload = next((above for above in reversed(chain) if get(above, "template") is not None or get(above, "parallelism") is not None), None)
        sizes = get(workload, "parallelism")
        if sizes is None or get(node, "command") is not None or not any(get(above, "spec", "model", "uri") is not None for above in chain):
            return []
        values: list[Value] = []
        for name, _, value in pairs(sizes):
            flag = _PARALLELISM.get(name)
            if flag and name == "expert" and text(value) == "true":
                values.append(Value(Placed(flag, self.file, [(0, place(value, self.file).line, place(value, self.file).column)])))
            elif flag and name != "expert":
                at = [(0, place(value, self.file).line, place(value, self.file).column)]
                values += [Value(Placed(flag, self.file, at)), self._value(value, env)]
        return values

    def _words(self, node: Node | None, env: dict[str, Word]) -> list[Value]:
        if node is None:
            return []
        if text(node) is not None:
            script = Script(placed(node, self.lines, self.file), env)
            found = [value for simple in script.commands() for value in simple.words]
            self.unread.extend(script.unread)
            return found
        return [self._value(item, env) for item in items(node) if text(item) is not None]

    def _value(self, node: Node, env: dict[str, Word]) -> Value:
        here = placed(node, self.lines, self.file)
        if "\n" not in here.text:
            here = Placed((text(node) or ""), here.file, here.anchors)
        literal = "{{" not in here.text
        whole = _REFERENCE.fullmatch(here.text)
        if whole and whole[1] in env:
            known = env[whole[1]]
            return Value(Placed(known.text, self.file, [(0, known.location.line, known.location.column)]), known.literal)
        if _REFERENCE.search(here.text):
            expanded = _REFERENCE.sub(lambda match: env[match[1]].text if match[1] in env else match[0], here.text)
            literal = literal and not _REFERENCE.search(expanded)
            here = Placed(expanded, self.file, here.anchors[:1])
        return Value(here, literal)

    def _environment(self, node: Node, chain: tuple[Node, ...]) -> dict[str, Word]:
        found: dict[str, Word] = {}
        for source in items(get(node, "envFrom")):
            found |= self.maps.variables(source)
        size = next((size for above in chain if (size := get(above, "leaderWorkerTemplate", "size")) is not None), None)
        if size is not None and text(size):
            found["LWS_GROUP_SIZE"] = word(size, self.file)
        source = get(node, "env") or get(node, "envs")
        for entry in items(source):
            name, value = text(get(entry, "name")), get(entry, "value")
            if name and value is not None:
                found[name] = word(value, self.file)
            elif name:
                found[name] = self.maps.variable(entry) or Word(f"$({name})", place(entry, self.file), literal=False)
        for name, _, value in pairs(source):
            if text(value) is not None:
                found[name] = word(value, self.file)
        return found

    def _settings(self, node: Node, keys: set[str]) -> Start | None:
        """Ray's `engine_kwargs` and the production stack's `vllmConfig`: settings as keys instead of words."""
        words: list[Word] = []
        source = get(node, "engine_kwargs") if "engine_kwargs" in keys else get(node, "vllmConfig")
        for name, key, value in pairs(source):
            if name == "extraArgs":
                words.extend(word(item, self.file) for item in items(value))
                continue
            words.extend(flag_words(_dashed(name), key, value, self.file))
        image_text = text(get(node, "repository"))
        tag = text(get(node, "tag"))
        image = read_image(f"{image_text}:{tag}" if tag else image_text) if image_text else None
        model = get(node, "model_loading_config", "model_source") or get(node, "model_loading_config", "model_id") or get(node, "modelURL")
        if model is not None and text(model):
            words.insert(0, word(model, self.file))
        at = words[0] if words else Word("", place(node, self.file))
        entry = "ray.serve.llm" if "engine_kwargs" in keys else "vllm serve"
        return Start(engine="vllm", words=tuple(words), at=at, entry=entry, env=self._environment(node, ()), image=image, image_text=image_text)

    def _around(self, start: Start, node: Node, path: tuple[str, ...], chain: tuple[Node, ...]) -> Deployment:
        flags = {known.text.partition("=")[0].replace("_", "-") for known in start.words}
        role = _role(node, path, chain, named="--kv-transfer-config" in flags)
        if role == "decode" and "modelArtifacts" in {key for above in chain for key, _, _ in pairs(above)} and get(chain[0], "prefill", "create") is not None:
            role = "aggregated" if text(get(chain[0], "prefill", "create")) == "false" else role
        if (
            role != "aggregated"
            and not ({"--kv-transfer-config", "--disaggregation-mode", "--is-prefill-worker", "--is-decode-worker"} & flags)
            and start.engine == "sglang"
        ):
            role = "aggregated"
        return Deployment(
            start=start,
            gpu=_gpu_name(chain),
            gpu_count=_gpu_count(chain),
            nodes=_group_size(chain),
            copies=_copies(chain),
            role=role,
            model=self._model(chain),
        )

    def _model(self, chain: tuple[Node, ...]) -> Word | None:
        """The model a platform object names beside the container: KServe `model.uri`, `storageUri`, llm-d `modelArtifacts`."""
        for node in reversed(chain):
            for path in (("model", "uri"), ("spec", "model", "uri"), ("storageUri",), ("modelArtifacts", "uri")):
                found = get(node, *path)
                value = text(found)
                if found is not None and value:
                    here = place(found, self.file)
                    name = text(get(node, *path[:-1], "name")) if path[-1] == "uri" else None
                    if name and "/" in name and "://" in value and not value.startswith(("hf://", "pvc+hf://")):
                        value = name  # a volume or bucket says where the weights lie, the name whose they are
                    for scheme in ("hf://", "pvc+hf://"):
                        value = value.removeprefix(scheme)
                    return Word(value, here, literal="{{" not in value)
        return None


def _role(node: Node, path: tuple[str, ...], chain: tuple[Node, ...], *, named: bool) -> str:
    """prefill, decode or aggregated, as the keys around say it, or the pod's label; the object's own name counts where a KV transfer is configured (`named`)."""
    said = [*path, text(get(node, "name")) or ""]
    for above in chain:
        said.append(text(get(above, "metadata", "labels", "llm-d.ai/role")) or "")
        if named:
            said.append(text(get(above, "metadata", "name")) or "")
    lowered = [part.lower() for part in said]
    return next((role for role in ("prefill", "decode") if any(role in part for part in lowered)), "aggregated")


def flag_words(flag: str, key: Node, value: Node, file: str) -> list[Word]:
    """`key: value` of a configuration file as the words argparse would get, each in its place."""
    where = place(key, file)
    content = plain(value)
    if content is True:
        return [Word(flag, where)]
    if content is False:
        return [Word(f"{flag}=false", where)]
    if content is None:
        return []
    if isinstance(content, dict):
        return [Word(flag, where), Word(json.dumps(content), place(value, file))]
    if isinstance(content, list):
        return [Word(flag, where), *(Word(str(plain(item)), place(item, file)) for item in items(value))]
    return [Word(f"{flag}={text(value)}", where)] if (text(value) or "").startswith("-") else [Word(flag, where), word(value, file)]


def _dashed(name: str) -> str:
    return "--" + re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "-" + match[1].lower(), name).replace("_", "-")


def _split(known: Word) -> list[Value]:
    script = Script(Placed(f"x {known.text}", known.location.file, [(0, known.location.line, max(known.location.column - 2, 0))]))
    return [value for simple in script.commands() for value in simple.words[1:]]


def _gpu_count(chain: tuple[Node, ...]) -> int | None:
    for node in reversed(chain):
        for path in (("resources", "limits"), ("resources", "requests"), ("resources",)):
            for name in _GPU_RESOURCES:
                if (found := parse_whole(text(get(node, *path, name)))) is not None:
                    return found
        if (asked := parse_whole(text(get(node, "requestGPU")))) is not None:
            return asked
    return None


def _gpu_name(chain: tuple[Node, ...]) -> str | None:
    for node in reversed(chain):
        for key in ("nodeSelector", "nodeLabels"):
            for name, _, value in pairs(get(node, key)):
                if name in _GPU_LABELS and text(value):
                    return text(value)
        kind = text(get(node, "accelerator_type")) or text(get(node, "acceleratorType"))
        if kind:
            return kind
        for term in items(get(node, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")):
            for expression in items(get(term, "matchExpressions")):
                if text(get(expression, "key")) in _GPU_LABELS:
                    return next((text(item) for item in items(get(expression, "values"))), None)
    return None


def _copies(chain: tuple[Node, ...]) -> int:
    """`replicas` of the nearest object around; autoscalers that stand elsewhere are not seen."""
    for node in reversed(chain):
        count = parse_whole(text(get(node, "replicas")) or text(get(node, "spec", "replicas")))
        if count is not None:
            return count
    return 1


def _group_size(chain: tuple[Node, ...]) -> int:
    for node in reversed(chain):
        size = text(get(node, "leaderWorkerTemplate", "size")) or text(get(node, "multinode", "nodeCount")) or text(get(node, "parallelism", "workers"))
        if (nodes := parse_whole(size)) is not None:
            return max(1, nodes)
        ranks, local = parse_whole(text(get(node, "parallelism", "data"))), parse_whole(text(get(node, "parallelism", "dataLocal")))
        if ranks is not None and local:
            return max(1, ranks // local)
        stages = parse_whole(text(get(node, "parallelism", "pipeline"))) if get(node, "worker") is not None else None
        if stages:
            return stages
    return 1


def _moved(deployment: Deployment, lines: int, columns: int) -> Deployment:
    """A deployment read from a text inside a text, with its places put back into the file."""
    from msgspec.structs import replace

    from serveright.types.report import Location

    def move(given: Word) -> Word:
        here = given.location
        return replace(given, location=Location(here.file, here.line + lines, here.column + columns))

    start = deployment.start
    moved = replace(start, words=tuple(move(given) for given in start.words), at=move(start.at), env={name: move(given) for name, given in start.env.items()})
    return replace(deployment, start=moved, model=None if deployment.model is None else move(deployment.model))
