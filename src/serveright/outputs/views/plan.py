"""What `plan` shows: the six steps in order, the layouts ranked, the command, and what is left to the engine."""

from collections.abc import Iterator

from serveright import units
from serveright.analysis.describe import NAMES
from serveright.analysis.layouts import name as layout_name
from serveright.outputs.views import check as check_view
from serveright.outputs.views.inspect import FAMILIES
from serveright.outputs.views.words import FORMATS, SEVERITIES, VERDICTS, word
from serveright.types.answers import ExpertBalance, Simulated
from serveright.types.design import Estimate
from serveright.types.document import Block, Bullets, Cell, Code, Derivations, Document, Heading, Pairs, Paragraph, Table
from serveright.types.reports import Chosen, GpuCount, InspectReport, PlanCandidate, PlanReport, SizeResult
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

OBJECTIVES = {
    "cost": msg("tokens per GPU"),
    "latency": msg("speed of one answer"),
    "context": msg("longest context"),
    "users": msg("most users"),
}
SHOWN = 10
NO_ENGINE = msg("No engine asked for runs this model on this GPU.")
NO_LAYOUT = msg("No layout on these GPUs serves this.")


def why_not(report: PlanReport) -> tuple[Msg, ...]:
    """Why there is no command: what stops each engine, else the layout that came nearest, and the ways out."""
    stopped = [r.text for check in report.steps["hardware"] if check.verdict == "blocked" for r in check.reasons if r.verdict == "blocked"]
    if not stopped:
        stopped = [c.lost_because.text for c in report.candidates if not c.fits and c.lost_because][:1] or [reason.text for _, reason in report.rejected[:1]]
    return (*stopped, *report.ways_out)


def document(report: PlanReport) -> Document:
    """The whole design."""
    title = msg("{model} on {count} x {gpu}", model=report.model.id, count=report.gpu.count, gpu=report.gpu.key)
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: PlanReport) -> Iterator[Block]:
    if report.chosen is None:
        blocked = all(check.verdict == "blocked" for check in report.steps["hardware"])
        yield Paragraph(NO_ENGINE if blocked else NO_LAYOUT, "bad")
        if report.ways_out:
            yield Bullets(report.ways_out)
    yield from _shape(report.steps["shape"])
    if report.curves is not None:
        from serveright.outputs.views import pictures

        yield from pictures.shape(report.steps["shape"], report.curves)
    if report.steps["memory"] is not None:
        yield from _memory(report.steps["memory"])
        if report.curves is not None:
            from serveright.outputs.views import pictures

            yield from pictures.room(report.steps["memory"], report.curves, report.steps["design"]["traffic"].context_tokens)
    yield Heading(msg("3-4 Hardware and software"))
    notes = [c.engine.note for c in report.candidates if c.engine.note is not None]
    yield from (Paragraph(note, "dim") for i, note in enumerate(notes) if note not in notes[:i])
    for check in report.steps["hardware"]:
        text, style = VERDICTS[check.verdict]
        yield Paragraph(msg("{engine} {version}: {text}", engine=check.engine, version=check.version, text=text), style)
        yield from check_view.obstacles(check)
    yield from _design(report)
    for chosen in (report.chosen, *report.alternatives):
        if chosen is not None:
            yield from _launch(chosen, report.gpu, first=chosen is report.chosen)
    if report.findings:
        yield Paragraph(msg("our own audit of this command:"), "dim")
        yield Bullets(tuple(msg("{code} ({severity}): {text}", code=f.code, severity=SEVERITIES[f.severity][0], text=f.message) for f in report.findings))


def _shape(shape: InspectReport) -> Iterator[Block]:
    yield Heading(msg("1 Shape"))
    yield Pairs(
        (
            (msg("family"), FAMILIES[shape.family]),
            (msg("layers"), ", ".join(f"{a.layers} x {NAMES[a.kind]}" for a in shape.attention)),
            (msg("parameters"), msg("{total:n} in all, {active:n} active a token", total=shape.parameters.total, active=shape.parameters.active)),
            (msg("checkpoint"), msg("{format}, {bytes:gib}", format=word(FORMATS, shape.checkpoint.format), bytes=shape.checkpoint.bytes)),
        )
    )
    if shape.unknown:
        yield Paragraph(msg("not understood: {fields}", fields=", ".join(u.path for u in shape.unknown[:6])), "warn")


def _memory(memory: SizeResult) -> Iterator[Block]:
    yield Heading(msg("2 Memory of the chosen layout"))
    yield Pairs(
        (
            (msg("one GPU"), _split(memory)),
            (msg("KV cache"), msg("{dtype}, {n:n} bytes a token on one GPU", dtype=memory.kv.dtype, n=memory.kv.bytes_per_token_per_gpu)),
            (
                msg("holds"),
                msg("{users:.1f} of the longest requests at once ({tokens:n} tokens)", users=memory.capacity.max_concurrency, tokens=memory.capacity.tokens),
            ),
        )
    )
    yield Derivations(memory.derivation)


def _split(memory: SizeResult) -> Msg:
    split = memory.memory
    return msg(
        "weights {weights:gib} + overhead {overhead:gib} + KV pool {pool:gib}",
        weights=split.weights_bytes,
        overhead=split.overhead_bytes,
        pool=split.kv_pool_bytes,
    )


def _design(report: PlanReport) -> Iterator[Block]:
    yield Heading(msg("5 Design"))
    yield Paragraph(_asked(report.steps["design"]["traffic"], report.objective), "dim")
    columns = (msg("layout"), msg("engine"), msg("TTFT"), msg("TPOT"), msg("tokens/s"), msg("users"), msg("why not"))
    fitting = [c for c in report.candidates if c.fits]
    if fitting:
        yield Table(columns, tuple(_row(c, report) for c in fitting[:SHOWN]), right=(2, 3, 4, 5), wide=(6,))
    else:
        yield Paragraph(msg("no layout is left to compare"), "warn")
    if len(fitting) > SHOWN:
        yield Paragraph(msg("{n} more layouts fit; --json lists them all", n=len(fitting) - SHOWN), "dim")
    if fitting and fitting[0].estimate is not None:
        yield from _trust(fitting[0].estimate)
        yield Derivations(report.derivation)
    if report.curves is not None:
        from serveright.outputs.views import pictures

        yield from pictures.design(report, report.curves, [_name(c) for c in report.candidates])
    misfits = [c for c in report.candidates if not c.fits]
    both = len({c.engine.name for c in report.candidates}) > 1
    fallen = [
        *((name, reason.text) for name, reason in report.rejected),
        *((f"{_name(c)} ({c.engine.name})" if both else _name(c), c.lost_because.text) for c in misfits if c.lost_because),
    ]
    if fallen:
        yield Table((msg("not possible"), msg("because")), tuple(_by_reason(fallen))[:SHOWN], wide=(0, 1))
    if report.flips:
        yield Bullets(tuple(msg("from {n:n} requests at once: {to} instead of {origin}", n=f.at_concurrency, to=f.to, origin=f.origin) for f in report.flips))
    yield from _beside(report)


def _by_reason(fallen: list[tuple[str, Msg]]) -> Iterator[tuple[str, Msg]]:
    """One row a reason, with every layout it rules out."""
    names: dict[str, list[str]] = {}
    texts: dict[str, Msg] = {}
    for name, text in fallen:
        key = f"{text.template}{text.values}"
        texts[key] = text
        names.setdefault(key, []).append(name)
    for key, text in texts.items():
        yield ", ".join(dict.fromkeys(names[key])), text


def _asked(traffic: Traffic, objective: str) -> Msg:
    """The question in one line: load, lengths, targets, what ranks."""
    load = msg("{n:n} at once", n=traffic.concurrency) if traffic.concurrency else msg("{n:g} a second", n=traffic.rate_per_s or 0.0)
    return msg(
        "asked: {load}, {input:n} tokens in, {output:n} out, {longest:n} at most{targets}; ranked by {objective}",
        load=load,
        input=traffic.input_tokens[0],
        output=traffic.output_tokens[0],
        longest=traffic.context_tokens or 0,
        targets=_targets(traffic),
        objective=OBJECTIVES[objective],
    )


def _targets(traffic: Traffic) -> Msg | str:
    ttft, tpot = traffic.ttft_target_s, traffic.tpot_target_s
    if ttft and tpot:
        return msg(", TTFT within {ttft:s} and TPOT within {tpot:s}", ttft=ttft, tpot=tpot)
    if ttft:
        return msg(", TTFT within {ttft:s}", ttft=ttft)
    return msg(", TPOT within {tpot:s}", tpot=tpot) if tpot else ""


def _beside(report: PlanReport) -> Iterator[Block]:
    """What was simulated, what the user measured, how even the experts are, and the single answers."""
    if report.simulated is not None:
        yield from _simulated(report.simulated)
    if report.anchors:
        columns = (msg("measured on"), msg("at once"), msg("what"), msg("measured"), msg("predicted"))
        rows = [
            (f"{p.layout}, {p.engine}", f"{p.concurrency:,.0f}", key, _figure(key, p.measured[key]), _figure(key, p.predicted[key]))
            for p in report.anchors
            for key in p.measured
        ]
        yield Table(columns, tuple(rows), right=(1, 3, 4))
        notes: list[Msg] = []
        for note in (point.note for point in report.anchors):
            if note is not None and note not in notes:
                notes.append(note)
        yield Bullets(tuple(notes) or (msg("estimates of this engine are corrected by these measurements"),))
    if report.experts is not None:
        yield from _experts(report.experts)
    if report.answers:
        yield Bullets(tuple(answer.text for answer in report.answers))


def _figure(key: str, value: float) -> str:
    return units.seconds(value) if key.endswith("_s") and not key.endswith("per_s") else f"{value:,.0f}"


def _simulated(run: Simulated) -> Iterator[Block]:
    names = tuple(run.ttft_s)
    rows = (
        ("TTFT", *(units.seconds(run.ttft_s[name]) for name in names)),
        ("TPOT", *(units.seconds(run.tpot_s[name]) if name in run.tpot_s else "" for name in names)),
    )
    yield Table((msg("simulated, one deployment"), *names), rows, right=tuple(range(1, len(names) + 1)))
    yield Paragraph(
        msg(
            "{n:n} requests, {rate:.2f} a second ({good:.2f} within the targets), {preempted:n} preempted",
            n=run.requests,
            rate=run.requests_per_s,
            good=run.goodput_per_s,
            preempted=run.preemptions,
        ),
        "dim",
    )


def _experts(balance: ExpertBalance) -> Iterator[Block]:
    yield Paragraph(
        msg(
            "expert load on {gpus} GPUs: hottest expert {expert:.2f} times the mean, hottest GPU {gpu:.2f} times (MoE layer {layer}: {worst:.2f})",
            gpus=balance.gpus,
            expert=balance.hottest_expert,
            gpu=balance.hottest_gpu,
            layer=balance.worst_layer,
            worst=balance.worst_layer_gpu,
        )
    )
    columns = (msg("redundant experts"), msg("hottest GPU"), msg("prefill"), msg("memory a GPU"))
    rows = tuple((str(c.redundant_experts), f"{c.hottest_gpu:.2f}", f"{c.prefill_gain:+.1%}", msg("{n:gib}", n=c.extra_bytes_per_gpu)) for c in balance.choices)
    yield Table(columns, rows, right=(0, 1, 2, 3))
    flags = " ".join(f.flag if f.value is None else f"{f.flag} {f.value}" for f in balance.flags)
    yield Bullets((balance.advice, flags) if flags else (balance.advice,))


def _name(candidate: PlanCandidate) -> str:
    drafted = f" + MTP {candidate.speculative_tokens}" if candidate.speculative_tokens else ""
    return layout_name(candidate.parallel) + drafted


def _titled(candidate: PlanCandidate, report: PlanReport) -> str:
    """With the checkpoint where several were priced."""
    several = len({c.checkpoint for c in report.candidates}) > 1
    return f"{_name(candidate)} ({candidate.checkpoint})" if several else _name(candidate)


def _row(candidate: PlanCandidate, report: PlanReport) -> tuple[Cell, ...]:
    estimate = candidate.estimate
    if estimate is None:
        return (_titled(candidate, report), candidate.engine.name, "", "", "", "", "")
    return (
        _titled(candidate, report),
        candidate.engine.name,
        msg("{n:s}", n=estimate.ttft_median_s),
        msg("{n:s}", n=estimate.tpot_s),
        f"{estimate.output_tokens_per_s:,.0f}",
        f"{estimate.max_concurrency:,.0f}",
        candidate.lost_because.text if candidate.lost_because else msg("chosen"),
    )


def _trust(estimate: Estimate) -> Iterator[Block]:
    if "tpot_s" in estimate.range:
        low, high = estimate.range["tpot_s"]
        yield Paragraph(msg("80 % of measured servers lie within: TPOT {low:s} to {high:s}", low=low, high=high), "dim")
    if estimate.dominated_by is not None:
        yield Paragraph(msg("what matters most: {why}", why=estimate.dominated_by), "dim")


def _launch(chosen: Chosen, gpu: GpuCount, *, first: bool) -> Iterator[Block]:
    engine = f"{chosen.engine.name} {chosen.engine.version}"
    yield Heading(msg("6 Launch: {engine}", engine=engine) if first else msg("The same on {engine}", engine=engine))
    yield Code(chosen.command)
    if chosen.parallel.replicas > 1:
        copies, gpus = chosen.parallel.replicas, chosen.parallel.gpus
        yield Paragraph(
            msg("start {n} copies of it, each on {gpus} GPUs of its own, behind a router; `--emit` writes all of them", n=copies, gpus=gpus), "warn"
        )
    spans = -(-chosen.parallel.gpus // (gpu.count // gpu.nodes))
    if spans > 1:
        yield Paragraph(msg("one copy spans {n} nodes, and each node starts its share of it: `--emit` writes the command of every node", n=spans), "warn")
    yield Table((msg("flag"), msg("why")), tuple((f.flag if f.value is None else f"{f.flag} {f.value}", f.why) for f in chosen.flags), wide=(1,))
    if first:
        yield Table((msg("left to the engine"), msg("why")), tuple((left.flag, left.why) for left in chosen.left_to_engine), wide=(1,))
        yield Code(chosen.first_launch_command, title=msg("first launch: the smallest that proves model, kernels and parsers"))
