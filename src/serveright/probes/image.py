"""Is an image accepted?"""

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one chat request with a picture of one pixel")
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def run(server: Server) -> ProbeResult:
    """A refusal is no fault of a text model; it is said."""
    content = [{"type": "text", "text": "Which colour?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    answer = server.chat([{"role": "user", "content": content}], max_tokens=16)
    if answer.status == 200:
        return ProbeResult(name="image", sent=SENDS, verdict="good", text=msg("images are accepted"))
    return ProbeResult(name="image", sent=SENDS, verdict="unknown", text=msg("images are refused: {words}", words=answer.error[:160]))
