"""Small files of a Hub repository through huggingface_hub (its endpoint, token, cache and offline settings); never weights, only the header of a single safetensors file."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from serveright.errors import InputError, NetworkError, UserError
from serveright.readers.json_object import LIMIT_BYTES
from serveright.types.text import Msg, msg

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_TIMEOUT_S = 20.0


def fetch(repo: str, revision: str | None, wanted: Sequence[str], progress: Callable[[Msg], None] | None = None) -> tuple[str, dict[str, bytes]]:
    """Origin in words, and the contents of those `wanted` files that exist.

    Raises InputError (no such repository, no config.json) and NetworkError (not reachable, not allowed).
    """
    from huggingface_hub import constants

    say = progress or _silent
    files = _cached(repo, revision, wanted) if constants.HF_HUB_OFFLINE else _guarded(repo, revision, wanted, say)
    if CONFIG not in files:
        raise _without_config(repo, offline=constants.HF_HUB_OFFLINE)
    return f"{repo}@{revision}" if revision else repo, files


def _silent(_: Msg) -> None:
    """Nobody listens."""


def _without_config(repo: str, *, offline: bool) -> UserError:
    if offline:
        return NetworkError(
            msg("{repo}: no config.json in the local Hub cache, and HF_HUB_OFFLINE forbids to fetch it", repo=repo), msg("Give a folder or a config.json.")
        )
    return InputError(msg("{repo}: the repository has no config.json", repo=repo), msg("GGUF and adapter repositories have none: name the original model."))


def _guarded(repo: str, revision: str | None, wanted: Sequence[str], say: Callable[[Msg], None]) -> dict[str, bytes]:
    from huggingface_hub import errors

    try:
        return _fetched(repo, revision, wanted, say)
    except errors.GatedRepoError as error:
        raise NetworkError(
            msg("{repo}: gated; the Hub wants an accepted licence and a token", repo=repo), msg("Accept it on the model's page and set HF_TOKEN.")
        ) from error
    except errors.RevisionNotFoundError as error:
        raise InputError(msg("{repo}: has no revision {revision}", repo=repo, revision=revision)) from error
    except errors.RepositoryNotFoundError as error:
        raise InputError(
            msg("{repo}: neither a local path, nor in the catalogue, nor on the Hub", repo=repo), msg("Check the spelling; a private model needs HF_TOKEN.")
        ) from error
    except _transport_errors() as error:
        if (cached := _cached(repo, revision, wanted)).get(CONFIG):
            say(msg("{repo}: the Hub did not answer; using the cached copy", repo=repo))
            return cached
        raise NetworkError(
            msg("{repo}: not in the catalogue, and the Hub cannot be reached ({why})", repo=repo, why=_first_line(error)),
            msg("Give a folder or a config.json, or set HF_ENDPOINT to a mirror."),
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _transport_errors() -> tuple[type[Exception], ...]:
    # the first base of HfHubHTTPError is the error class of whichever HTTP client this version of huggingface_hub uses
    from huggingface_hub.errors import HfHubHTTPError

    return (OSError, *cast("tuple[type[Exception], ...]", HfHubHTTPError.__bases__))


def _fetched(repo: str, revision: str | None, wanted: Sequence[str], say: Callable[[Msg], None]) -> dict[str, bytes]:
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    say(msg("{repo}: asking the Hub", repo=repo))
    api = HfApi()
    info = api.model_info(repo, revision=revision, files_metadata=True, timeout=_TIMEOUT_S)
    sizes = {item.rfilename: item.size or 0 for item in info.siblings or ()}
    files: dict[str, bytes] = {}
    for name in wanted:
        if name in sizes and sizes[name] <= LIMIT_BYTES:
            say(msg("{repo}: {file}", repo=repo, file=name))
            files[name] = Path(api.hf_hub_download(repo, name, revision=revision)).read_bytes()
    if INDEX not in files and SINGLE in sizes:
        say(msg("{repo}: header of {file}", repo=repo, file=SINGLE))
        files[INDEX] = _index_of_header(api.parse_safetensors_file_metadata(repo, SINGLE, revision=revision))
    return files


def _index_of_header(header: Any) -> bytes:
    ends = [tensor.data_offsets[1] for tensor in header.tensors.values()]
    return json.dumps({"metadata": {"total_size": max(ends, default=0)}, "weight_map": dict.fromkeys(header.tensors, SINGLE)}).encode()


def _cached(repo: str, revision: str | None, wanted: Sequence[str]) -> dict[str, bytes]:
    from huggingface_hub import try_to_load_from_cache

    paths = {name: try_to_load_from_cache(repo, name, revision=revision) for name in wanted}
    return {name: Path(path).read_bytes() for name, path in paths.items() if isinstance(path, str)}
