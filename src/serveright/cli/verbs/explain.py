"""`serveright explain [TOPIC]`: how serving works, with the numbers of a model the reader names."""

import click

from serveright.cli.options import Output, output, say
from serveright.types.lessons import Glossary, TopicList
from serveright.types.text import msg


@click.command(
    "explain", help=say(msg("Explain a topic of serving with numbers computed for a model you name; without TOPIC, list them; `glossary` lists the words."))
)
@click.argument("topic", required=False, metavar="[TOPIC]")
@click.option("--model", metavar="MODEL", help=say(msg("Whose numbers to show.")))
@click.option("--gpu", metavar="GPU", help=say(msg("On which GPUs, such as 8xh200.")))
@output()
def command(topic: str | None, model: str | None, gpu: str | None, out: Output) -> None:
    """Show the page or the list."""
    from serveright import api
    from serveright.outputs.views import explain as views

    report = api.explain(topic, model=model, gpu=gpu, lang=out.lang)
    if isinstance(report, TopicList):
        out.show(report, views.topics, quiet="\n".join(line.topic for line in report.topics))
    elif isinstance(report, Glossary):
        out.show(report, views.glossary, quiet="\n".join(term.ko for term in report.terms))
    else:
        out.show(report, views.document, quiet=report.title)
