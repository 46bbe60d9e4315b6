"""Which models run on which GPUs of a stock: what is asked, what could be offered, what was chosen and what is short."""

from msgspec import Struct

from serveright.types.text import Msg
from serveright.types.traffic import Traffic


class Wish(Struct, frozen=True, kw_only=True):
    """One model with its traffic; `traffic.rate_per_s` must be met within its targets."""

    model: str
    traffic: Traffic

    @property
    def rate_per_s(self) -> float:
        """Requests a second."""
        return self.traffic.rate_per_s or 0.0


class Shelf(Struct, frozen=True, kw_only=True):
    """GPUs of one kind at hand. `usd_per_gpu_hour` None: no price is known."""

    gpu: str
    count: int
    usd_per_gpu_hour: float | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """One way to run one copy of a model: `rate_per_s` requests within the targets on `gpus` GPUs."""

    model: str
    gpu: str
    gpus: int
    rate_per_s: float
    engine: str
    layout: str
    concurrency: int = 0


class Placed(Struct, frozen=True, kw_only=True):
    """Copies of an offer."""

    offer: Offer
    copies: int
    usd_per_hour: float | None


class Short(Struct, frozen=True, kw_only=True):
    """What is missing: requests a second of a model that find no room, and how many more GPUs of which kind would give it, where any would."""

    model: str
    unmet_per_s: float
    more_gpus: dict[str, int]
    why: Msg


class PlaceReport(Struct, frozen=True, kw_only=True):
    """The least costly placement, proved: `proved` is False only where the solver stopped early. Money in US dollars an hour, None without prices."""

    schema: str = "serveright.place/1"
    placed: tuple[Placed, ...]
    short: tuple[Short, ...]
    usd_per_hour: float | None
    used: dict[str, int]
    left: dict[str, int]
    proved: bool
    headroom: float
    offers: tuple[Offer, ...]
    notes: tuple[Msg, ...] = ()
