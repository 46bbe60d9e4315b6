"""Step 3: does this model run on this GPU, and on the best path? Gates are facts; this module only asks which of them concern the model.

Verdicts: `best`, `degraded`, `unknown` (no source says), `blocked`; the worst of all gates is the answer.
"""

from collections.abc import Iterable

from serveright.formats.resolve import resolver
from serveright.types.design import Reason, VerdictName
from serveright.types.engine_table import EngineName
from serveright.types.gate import Gate, GateRow
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Checkpoint, Latent, ModelShape, NumberFormat, Recurrent, UnknownMixer
from serveright.types.text import Msg, msg
from serveright.versions import within

ORDER: tuple[VerdictName, ...] = ("best", "degraded", "unknown", "blocked")


def worst(verdicts: Iterable[VerdictName]) -> VerdictName:
    """The verdict of a whole from those of its parts; `best` when there are none."""
    rank = max((ORDER.index(verdict) for verdict in verdicts), default=0)
    return ORDER[rank]


def format_need(number_format: NumberFormat) -> str:
    """The gate word of a number format: by what is stored, not by the dialect's name."""
    floating = "fp" in number_format.name or "nf4" in number_format.name
    if number_format.bits >= 16:
        return f"format:{number_format.bits:.0f}bit"
    if number_format.bits > 6:
        if not floating:
            return "format:int8"
        if number_format.group == 32:
            return "format:mxfp8"
        return "format:fp8_block" if number_format.block else "format:fp8"
    if floating and number_format.group in (16, 32):
        return "format:nvfp4" if number_format.group == 16 else "format:mxfp4"
    return "format:int4"


def needs(shape: ModelShape, checkpoint: Checkpoint) -> frozenset[str]:
    """What the model asks of hardware and engine, in the words of the gates."""
    found = {f"dtype:{checkpoint.dtype}", f"architecture:{shape.architecture}"}
    format_of = resolver(checkpoint)
    found |= {format_need(number) for number in {format_of(weight) for weight in shape.weights if weight.linear and not weight.mtp}}
    for layer in (*shape.layers, *shape.mtp):
        for mixer in layer.mixers:
            found.add("mixer:unknown" if isinstance(mixer, UnknownMixer) else f"mixer:{mixer.kind}")
            if isinstance(mixer, (Attention, Latent)):
                if mixer.sinks:
                    found.add("sinks")
                if mixer.indexer is not None:
                    found.add(f"index_topk:{mixer.indexer.topk}")
            elif isinstance(mixer, Recurrent) and mixer.state_dtype:
                found.add(f"state:{mixer.state_dtype}")
    return frozenset(found)


def _applies(row: GateRow, engine: EngineName, version: str, gpu: Gpu, wanted: frozenset[str]) -> bool:
    if row.engine != engine or not within(version, row.since, row.until) or not wanted.issuperset(row.needs):
        return False
    if row.vendor is not None:
        return row.vendor == gpu.vendor and (not row.architectures or gpu.architecture in row.architectures)
    if gpu.sm is None:
        return False
    return (not row.sm or gpu.sm in row.sm) and (row.min_sm is None or gpu.sm >= row.min_sm) and (row.max_sm is None or gpu.sm <= row.max_sm)


def gate_reason(gate: Gate, engine: EngineName, version: str, gpu: Gpu, wanted: frozenset[str]) -> tuple[VerdictName, Reason, Msg | None]:
    """One gate's verdict, its sentence, and the way out where there is one."""
    for row in gate.rows:
        if _applies(row, engine, version, gpu, wanted):
            return (
                row.verdict,
                Reason(code=f"gate-{gate.id}", text=msg("{topic}: {text}", topic=Msg(gate.topic), text=Msg(row.text)), source=row.source or gate.source),
                (Msg(row.fix) if row.fix else None),
            )
    text = msg("{topic}: no source says how {engine} {version} does on {gpu}", topic=Msg(gate.topic), engine=engine, version=version, gpu=gpu.name)
    return "unknown", Reason(code=f"gate-{gate.id}", text=text, source=gate.source), None


def gate_reasons(gates: Iterable[Gate], wanted: frozenset[str], gpu: Gpu, engine: EngineName, version: str) -> list[tuple[VerdictName, Reason, Msg | None]]:
    """Verdicts of the gates that concern what a model asks for (`needs`), worst first; a layer kind without any gate counts as unknown."""
    known = tuple(gates)
    answers: list[tuple[VerdictName, Reason, Msg | None]] = [
        gate_reason(gate, engine, version, gpu, wanted) for gate in known if wanted.intersection(gate.needs)
    ]
    covered = {need for gate in known for need in gate.needs}
    bare = sorted(n for n in wanted - covered if n.startswith(("mixer:", "format:")) and n not in ("format:16bit", "format:32bit"))
    answers.extend(("unknown", Reason(code="gate-none", text=msg("no gate is known for {need}", need=need.split(":")[1])), None) for need in bare)
    return sorted(answers, key=lambda answer: -ORDER.index(answer[0]))
