"""A second opinion from NVIDIA's aiconfigurator (extra `silicon`): its prediction of the chosen layout, shown beside ours and never mixed in."""

import importlib
from typing import Any

from serveright.analysis.traffic import mean
from serveright.errors import UsageError
from serveright.types.answers import Answer
from serveright.types.design import Candidate
from serveright.types.hardware import Fleet
from serveright.types.text import msg
from serveright.types.traffic import Traffic


def cross_check(model: str, fleet: Fleet, traffic: Traffic, best: Candidate) -> Answer:
    """TPOT and TTFT of one deployment at its share of the load, without drafting. Raises UsageError where the package is not installed."""
    try:
        estimate: Any = importlib.import_module("aiconfigurator.cli.api").cli_estimate
        unknown: type[Exception] = importlib.import_module("aiconfigurator_core.sdk.utils").HuggingFaceDownloadError
    except ImportError as error:
        raise UsageError(msg("--cross-check needs aiconfigurator, which is not installed"), msg("Install it: pip install 'serveright[silicon]'.")) from error
    parallel = best.parallel
    width = parallel.tp * parallel.dp
    try:
        found: Any = estimate(
            model, fleet.gpu.key.replace("-", "_"), mode="agg", backend_name=best.engine, isl=round(mean(traffic.input_tokens)),
            osl=round(mean(traffic.output_tokens)), batch_size=max(1, round((traffic.concurrency or 1) / parallel.replicas / parallel.dp)),
            tp_size=parallel.tp, pp_size=parallel.pp, attention_dp_size=parallel.dp,
            moe_tp_size=1 if parallel.ep > 1 else width, moe_ep_size=width if parallel.ep > 1 else 1,
        )  # fmt: skip
    except (ValueError, KeyError, RuntimeError, NotImplementedError, unknown) as error:
        text = msg("aiconfigurator has no answer for this model, GPU and layout: {why}", why=str(error).splitlines()[0][:120] if str(error) else "?")
        return Answer(code="cross-check", text=text, values={"tpot_s": None, "ttft_s": None})
    tpot, ttft = float(found.tpot) / 1e3, float(found.ttft) / 1e3
    text = msg(
        "second opinion, not mixed in: aiconfigurator's tables of {engine} {version} give TPOT {tpot:s} and TTFT {ttft:s} without drafting",
        engine=best.engine, version=str(found.backend_version), tpot=tpot, ttft=ttft,
    )  # fmt: skip
    return Answer(code="cross-check", text=text, values={"tpot_s": tpot, "ttft_s": ttft, "backend_version": str(found.backend_version)})
