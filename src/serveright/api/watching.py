"""Metrics pages one after the other: what has changed since the last one."""

from collections.abc import Iterator

from serveright.analysis.evidence import scrape_signs
from serveright.readers.metrics import read_metrics
from serveright.types.diagnosis import Scrape, Sign
from serveright.types.text import Msg, msg

KEPT = 12
"""Pages over which rates are taken."""


class Watch:
    """One server. `step` raises UserError when the first page cannot be read; later failures are reported as changes."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.pages: list[Scrape] = []
        self.known: dict[str, Sign] = {}

    def step(self) -> Iterator[Msg]:
        """Reads a page; signs that came or went, and the first page's figures."""
        from serveright.errors import NetworkError

        try:
            page = read_metrics(self.where)
        except NetworkError as error:
            if not self.pages:
                raise
            yield error.message
            return
        first = not self.pages
        self.pages = [*self.pages[-KEPT + 1 :], page]
        if first:
            yield _state(page)
            return
        signs = {sign.key: sign for sign in scrape_signs(self.pages)}
        for key, sign in signs.items():
            if key not in self.known and isinstance(sign.text, Msg) and key not in _QUIET:
                yield msg("new: {text}", text=sign.text)
        for key, sign in self.known.items():
            if key not in signs and isinstance(sign.text, Msg) and key not in _QUIET:
                yield msg("over: {text}", text=sign.text)
        self.known = signs
        before, after = self._hit_rate(-3, -2), self._hit_rate(-2, -1)
        if before is not None and after is not None and before - after > 0.2:
            yield msg("prefix hit rate fell from {before:pct} to {after:pct}", before=before, after=after)

    def _hit_rate(self, first: int, last: int) -> float | None:
        if len(self.pages) < -first:
            return None
        older, newer = self.pages[first].total, self.pages[last].total
        asked = newer.get("prefix_queries", 0) - older.get("prefix_queries", 0)
        return (newer.get("prefix_hits", 0) - older.get("prefix_hits", 0)) / asked if asked > 0 else None


_QUIET = frozenset({"metrics:no_preemption", "metrics:prefix_on"})


def _state(page: Scrape) -> Msg:
    total = page.total
    return msg(
        "{engine}: {running:n} running, {waiting:n} waiting, {usage:pct} of the cache used",
        engine=page.engine or "?",
        running=total.get("running", 0),
        waiting=total.get("waiting", 0),
        usage=total.get("kv_usage", 0),
    )
