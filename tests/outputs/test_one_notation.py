"""A layout has one name on every page: the one that flips and refusals use."""

import re

from serveright.api.sizing import size
from serveright.outputs.language import render
from serveright.outputs.text import Options, document
from serveright.outputs.views.size import document as view
from serveright.types.engine import Parallel, Settings


def test_sizes_name_layouts_as_plans_do() -> None:
    text = document(view(size("Qwen/Qwen3-8B", "4xh200", engine="vllm", settings=Settings(parallel=Parallel(tp=2, replicas=2)))), Options(lang="en"))
    assert " · 2xTP2" in text
    assert not re.search(r"\btp \d", text)


def test_features_do_not_repeat_the_family() -> None:
    from serveright.api.inspection import inspect
    from serveright.outputs.views.inspect import document as page

    text = document(page(inspect("zai-org/GLM-5.2-FP8")), Options(lang="en"))
    [also] = [line for line in text.splitlines() if line.startswith(render("also", "en"))]
    assert also.split(None, 1)[1] == "mla, moe, mtp"
