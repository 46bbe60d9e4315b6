"""Search: `plan` against aiconfigurator's search of the same layout, the full search and `choose` against one plan, a simulated day against a bare heap of events."""

from benchmarks.measure import code, row, serveright, table
from benchmarks.peers import search

MODEL = "deepseek-ai/DeepSeek-V3"
TRAFFIC = ("--input-tokens", "4096", "--output-tokens", "512", "--tpot", "0.05")
SEATS, REQUESTS = 256, 200_000
SIMULATION = f"""
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
files, calibration = load("deepseek-ai/DeepSeek-R1"), load_performance()
work = model_work(read_model(files), resolver(read_checkpoint(files)))
times = StepTimes(layout.split(work, load_gpu("h200-sxm"), Parallel(tp=8, ep=8), calibration, 2.0), calibration.hardware, calibration.scheduling["vllm/hopper"])
simulate(times, closed({REQUESTS}, (512, 512), (256, 512)), seats={SEATS}, concurrency={SEATS})
"""
HEAP = f"""
import heapq, random
draw, heap = random.Random(1).random, []
for n in range({REQUESTS}):
    heapq.heappush(heap, (draw(), n))
    if n >= {SEATS}: heapq.heappop(heap)
"""


def rows() -> None:
    one = serveright("plan", MODEL, "--gpu", "8xh200", "--concurrency", "64", *TRAFFIC, "--json")
    peer = search(MODEL, 8)
    if peer is not None:
        row(f"`plan` {MODEL} on 8 H200", one, "aiconfigurator default, vLLM only", peer)
    whole = serveright("plan", MODEL, "--gpu", "64xh200", "--nodes", "8", "--concurrency", "512", *TRAFFIC, "--json", runs=1)
    row("`plan` on 64 H200 in 8 nodes", whole, "`plan` on 8 H200", one)
    choose = serveright("choose", "--gpu", "8xh200", "--concurrency", "64", "--json", runs=1)
    row("`choose` among the catalogue on 8 H200", choose, "`plan` of one model", one)
    row(f"{REQUESTS:,} requests simulated, {SEATS} at once", code(SIMULATION, runs=1), "as many pushes and pops of a heap", code(HEAP, runs=1))


if __name__ == "__main__":
    raise SystemExit(table(rows))
