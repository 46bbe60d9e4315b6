"""A rate curve -> how many copies run when: each copy carries what the estimate says within the targets, and is started before it is needed."""

from collections.abc import Sequence
from math import isfinite

from serveright.analysis.autoscaling import HEADROOM, schedule
from serveright.analysis.deployment import startup_s
from serveright.api.engines import load_engines
from serveright.api.loading import load_model
from serveright.api.placing import best_offer
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import Infeasible, UsageError
from serveright.types.scaling import ScaleReport, ScaleStep
from serveright.types.text import msg
from serveright.types.traffic import Traffic

DAY_S = 86_400.0


def scale(
    model: str,
    gpu: str,
    traffic: Traffic,
    curve: Sequence[tuple[float, float]],
    *,
    gpus: int | None = None,
    engine: str = "both",
    revision: str | None = None,
    length_s: float = DAY_S,
    headroom: float = HEADROOM,
    least: int = 1,
) -> ScaleReport:
    """Copies of `gpu` (the GPUs of one copy) for a curve of (second, requests/s). Raises UserError where one copy cannot keep the targets."""
    if not curve or not all(isfinite(rate) and rate >= 0 for _, rate in curve) or max(at for at, _ in curve) >= length_s:
        raise UsageError(msg("the curve needs moments within its length and rates of at least 0"), msg("For instance --curve 0h:2,8h:20,20h:5"))
    loaded, fleet = load_model(model, revision), parse_gpu_spec(gpu, gpus, None)
    offers = [offer for e in load_engines(engine) if (offer := best_offer(e, loaded, fleet.gpu, fleet.count, traffic, model, split=True)) is not None]
    if not offers:
        raise Infeasible(
            msg("one copy on {n} x {gpu} cannot keep the targets", n=fleet.count, gpu=fleet.gpu.name), msg("Give more GPUs, or laxer --ttft and --tpot.")
        )
    best = max(offers, key=lambda offer: offer.rate_per_s)
    wait = startup_s(loaded.checkpoint.file_bytes or loaded.need.total_bytes)
    made = schedule(curve, length_s, best.rate_per_s, wait, headroom, least)
    price = None if fleet.gpu.price_usd_per_hour is None else fleet.gpu.price_usd_per_hour * fleet.count
    version = next(e.version for e in load_engines(engine) if e.name == best.engine)
    return ScaleReport(
        model=loaded.files.id,
        engine=best.engine,
        version=version,
        layout=best.layout,
        gpu=fleet.gpu.key,
        gpus_per_copy=fleet.count,
        copy_rate_per_s=best.rate_per_s,
        startup_s=wait,
        headroom=headroom,
        steps=tuple(ScaleStep(at_s=step.at_s, rate_per_s=step.rate_per_s, copies=step.copies) for step in made.steps),
        peak_copies=made.peak,
        copy_hours=made.copy_hours,
        fixed_copy_hours=made.fixed_copy_hours,
        usd=None if price is None else made.copy_hours * price,
        fixed_usd=None if price is None else made.fixed_copy_hours * price,
        derivation=made.derivation,
    )
