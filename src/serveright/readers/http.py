"""One bounded GET over HTTP; every failure is one message with the way out."""

import http.client

from serveright.errors import NetworkError, os_reason
from serveright.types.text import msg


def fetch(url: str, timeout_s: float, limit: int) -> str:
    """The body of `url` as text, at most `limit` bytes. Raises NetworkError."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            raw: bytes = answer.read(limit)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise NetworkError(
            msg("{url} did not answer ({why})", url=url, why=os_reason(error) if isinstance(error, OSError) else str(error)[:200]),
            msg("Is the server up, and can this machine reach the address?"),
        ) from error
    return raw.decode("utf-8", "replace")
