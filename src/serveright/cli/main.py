"""The entry point: finds the verb, turns what users can mend into one message and exit code 2."""

import errno
import importlib
import os
import pkgutil
import sys

import click

from serveright import __version__
from serveright.cli import verbs
from serveright.cli.click_words import speak
from serveright.cli.options import LANG, say, tell
from serveright.errors import UserError, os_reason
from serveright.outputs.language import LANGUAGES, translated
from serveright.types.text import msg

speak(LANG)


class _Verbs(click.Group):
    """Commands are the modules of `cli.verbs`, imported when called."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Like click's, with whole sentences instead of their beginnings."""
        with formatter.section(translated("Commands", LANG)):
            formatter.write_dl([(name, found.help or "") for name in self.list_commands(ctx) if (found := self.get_command(ctx, name))])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all verbs."""
        return sorted(info.name.removesuffix("_").replace("_", "-") for info in pkgutil.iter_modules(verbs.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command, None when there is no such verb."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"{verbs.__name__}.{cmd_name.replace('-', '_')}").command
        found.options_metavar = translated("[OPTIONS]", LANG)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with the nearest verbs in the message."""
        if args and args[0] not in (known := self.list_commands(ctx)) and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], known, n=2, cutoff=0.5)
            hint = say(msg(" Did you mean {names}?", names=", ".join(near))) if near else ""
            raise click.UsageError(say(msg("There is no verb {name}.", name=args[0])) + hint, ctx)
        return super().resolve_command(ctx, args)


HELP = msg("Derive, check and explain how to serve a language model with vLLM or SGLang.\n\nStart with: serveright plan Qwen/Qwen3.6-27B --gpu 2xh200")

NEXT = msg(
    """serveright: how to serve a language model with vLLM or SGLang, with the work shown.

Start with what you have:
  a model and GPUs            serveright plan Qwen/Qwen3.6-27B --gpu 2xh200
  a config.json               serveright inspect path/to/config.json
  GPUs, and no model yet      serveright choose --gpu 8xh200 --concurrency 64
  somebody's command          serveright audit run.sh --gpu 8xh200
  a server that fails         serveright diagnose --log server.log
  a wish to understand        serveright explain
  a browser                   serveright serve

All verbs: serveright --help    One verb: serveright plan --help
Completion: eval "$(_SERVERIGHT_COMPLETE=bash_source serveright)"   (zsh_source, fish_source)"""
)


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True}


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    help=say(HELP),
    context_settings=SETTINGS,
    options_metavar=translated("[OPTIONS]", LANG),
    subcommand_metavar=translated("COMMAND [ARGS]...", LANG),
)
@click.option("--lang", type=click.Choice(LANGUAGES), default=LANG, help=say(msg("Language of the prose.")))
@click.version_option(__version__, prog_name="serveright")
@click.pass_context
def cli(context: click.Context, lang: str) -> None:
    """The group of all verbs; alone, what to do next. `--lang` was read before (`options.language`): it stands here to be known."""
    del lang
    if context.invoked_subcommand is None:
        click.echo(say(NEXT))


def main() -> None:
    """Run, and map errors to the contract's exit codes."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        tell(error)
        sys.exit(2)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # the reader of the pipe went away: no message, and no second one at interpreter exit
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        tell(UserError(msg("the output cannot be written ({why})", why=os_reason(error))))
        sys.exit(2)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
