"""`serveright diagnose`: from symptom to cause."""

import sys
import time
from pathlib import Path

import click

from serveright.cli.options import Output, output, say
from serveright.errors import UsageError
from serveright.types.text import Msg, msg

EVERY_S = 5.0
"""Between two refreshes of --watch."""


@click.command("diagnose", help=say(msg("Name the cause of a fault from whatever there is: logs, metrics, the command, a sentence, a running server.")))
@click.argument("said", nargs=-1, metavar="[TEXT]...")
@click.option("--log", "logs", multiple=True, metavar="FILE", help=say(msg("A server's log, .gz too, - for a pipe; several for rotated logs or ranks.")))
@click.option("--metrics", multiple=True, metavar="FILE|URL", help=say(msg("A /metrics page, a Prometheus API answer, or a URL; several give rates.")))
@click.option("--command", "launch", metavar="FILE|TEXT", help=say(msg("The launch command, as a file or in quotes.")))
@click.option("--config", "model", metavar="MODEL", help=say(msg("The model: config.json, directory, Hub id or alias.")))
@click.option("--gpu", metavar="GPU", help=say(msg("GPUs it runs on.")))
@click.option("--engine", metavar="ENGINE[@VERSION]", help=say(msg("Engine and version where neither log nor command says.")))
@click.option("--symptom", "symptoms", multiple=True, metavar="TEXT", help=say(msg("What is wrong, in your words (English or Korean).")))
@click.option("--nvidia-smi", "smi", metavar="FILE", help=say(msg("Output of nvidia-smi.")))
@click.option("--bench", metavar="FILE", help=say(msg("Result of vllm bench, sglang bench or GuideLLM.")))
@click.option("--url", metavar="BASE", help=say(msg("A running server: its metrics are read; --probe also sends requests.")))
@click.option("--probe", is_flag=True, help=say(msg("Send a few small requests to --url, each said before it is sent.")))
@click.option("--watch", is_flag=True, help=say(msg("Read the metrics every few seconds and report changes until Ctrl-C.")))
@click.option("--calibrate-out", metavar="FILE", help=say(msg("Write what the log says about memory for later plans.")))
@output(watch=False)
def command(
    said: tuple[str, ...], logs: tuple[str, ...], metrics: tuple[str, ...], launch: str | None, model: str | None, gpu: str | None, engine: str | None,
    symptoms: tuple[str, ...], smi: str | None, bench: str | None, url: str | None, probe: bool, watch: bool, calibrate_out: str | None, out: Output,
) -> None:  # fmt: skip
    """Show causes; exit 1 when a cause is more likely than not."""
    from serveright.api.commands import ask
    from serveright.api.diagnosing import Bundle, diagnose
    from serveright.outputs.views.diagnose import document

    asked = ask(engine, gpu, model)
    if probe and not url:
        raise UsageError(msg("--probe needs --url"), msg("Name the server, for instance --url http://localhost:8000."))
    if watch:
        _watch((*metrics, *((url,) if url else ())))
        return
    bundle = Bundle(
        logs=logs, metrics=metrics, command=launch, model=model, gpu=gpu, engine=asked.engine, version=asked.version, symptoms=(*symptoms, *map(_sentence, said)), smi=smi,
        bench=bench, url=url, probe=probe,
    )  # fmt: skip
    report = diagnose(bundle, _progress(), _tell)
    if calibrate_out:
        from serveright.api.diagnosing import write_calibration

        write_calibration(report, calibrate_out)
        _tell(msg("calibration written to {file}", file=calibrate_out))
    out.show(report, document, quiet="\n".join(cause.code for cause in report.causes))
    out.finish(failed=bool(report.causes) and report.causes[0].likelihood > 0.5)


def _sentence(said: str) -> str:
    """A word without an option is the symptom, as one says it. Raises UsageError for a file, whose kind only an option tells."""
    if Path(said).is_file():
        raise UsageError(
            msg("{file}: a file, and not said what it is", file=said), msg("Give a log as --log {file}, a command as --command {file}.", file=said)
        )
    return said


def _tell(text: Msg) -> None:
    from serveright.outputs.text import safe

    sys.stderr.write(safe(say(text)) + "\n")


class _Bar:
    """Progress over a large log: one line on a terminal, a line per 10 % elsewhere."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, done: int, size: int) -> None:
        if size < 64 << 20:
            return
        share = min(1.0, done / size)
        if sys.stderr.isatty() and share - self.last >= 0.01:
            sys.stderr.write("\r" + say(msg("{share:pct} of {size:gib} read", share=share, size=size)) + ("\n" if share >= 1 else ""))
            self.last = share
        elif share - self.last >= 0.1:
            _tell(msg("{share:pct} of {size:gib} read", share=share, size=size))
            self.last = share


def _progress() -> _Bar:
    return _Bar()


def _watch(where: tuple[str, ...]) -> None:
    """Changes of the last pages until interrupted."""
    from serveright.api.watching import Watch

    if not where:
        raise UsageError(msg("--watch needs --metrics URL or --url BASE"), None)
    watches = [Watch(url) for url in where]
    try:
        while True:
            for watch in watches:
                for line in watch.step():
                    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {say(line)}\n")
            sys.stdout.flush()
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        sys.exit(130)
