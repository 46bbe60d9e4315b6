"""Speed of search and simulation: candidates priced per second, requests simulated per minute."""

import sys
import time

from serveright import api
from serveright.analysis import layout
from serveright.analysis.simulate import StepTimes, closed, simulate
from serveright.analysis.work import model_work
from serveright.catalog.calibration import load_performance
from serveright.catalog.gpus import load_gpu
from serveright.catalog.models import load
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.formats.resolve import resolver
from serveright.types.engine import Parallel
from serveright.types.traffic import Traffic

MODEL = "deepseek-ai/DeepSeek-R1"
REQUESTS, OUTPUT, BATCH = 1_000_000, 256, 256


def main() -> int:
    for gpus, nodes in ((8, 1), (64, 8)):
        started = time.process_time()
        report = api.plan(MODEL, "h200", Traffic(concurrency=16 * gpus, input_tokens=(4096, 4096), output_tokens=(512, 512)), gpus=gpus, nodes=nodes)
        spent = time.process_time() - started
        print(f"plan {MODEL} on {gpus} GPUs: {len(report.candidates)} candidates in {spent:.2f} s CPU, {len(report.candidates) / spent:.0f} per second")
    files = load(MODEL)
    calibration = load_performance()
    work = model_work(read_model(files), resolver(read_checkpoint(files)))
    split = layout.split(work, load_gpu("h200-sxm"), Parallel(tp=8, ep=8), calibration, 2.0)
    times = StepTimes(split, calibration.hardware, calibration.scheduling["vllm/hopper"])
    started = time.process_time()
    got = simulate(times, closed(REQUESTS, (512, 512), (OUTPUT, 2 * OUTPUT)), seats=BATCH, concurrency=BATCH)
    print(
        f"simulate {REQUESTS:,} requests, batch {BATCH}: {time.process_time() - started:.1f} s CPU, {got.steps:,} steps, {got.output_tokens_per_s:.0f} tokens/s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
