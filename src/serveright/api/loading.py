"""From a name to the nouns: files -> shape, checkpoint, weights, family. The one place where facts are loaded and handed in."""

import os
from functools import cache, cached_property

from msgspec import Struct

from serveright.analysis.gates import needs
from serveright.analysis.weights import weight_need
from serveright.catalog import models
from serveright.catalog.own import existing
from serveright.errors import UserError
from serveright.families.read import read_model
from serveright.families.verdict import family
from serveright.formats.read import read_checkpoint
from serveright.readers.model import read_model_files
from serveright.types.model import Checkpoint, Family, ModelShape
from serveright.types.reports import ModelName
from serveright.types.source import ModelFiles
from serveright.types.weights import WeightNeed


class Model(Struct, frozen=True, kw_only=True, dict=True):
    """Step 1's raw answer, ready for the later steps. What walks over every weight is counted when first asked for."""

    files: ModelFiles
    shape: ModelShape
    checkpoint: Checkpoint
    family: Family

    @cached_property
    def need(self) -> WeightNeed:
        """Elements and bytes of every part."""
        return weight_need(self.shape, self.checkpoint)

    @cached_property
    def needs(self) -> frozenset[str]:
        """What it asks of hardware and engine, in the words of the gates."""
        return needs(self.shape, self.checkpoint)

    @property
    def name(self) -> ModelName:
        """How reports name it."""
        return ModelName(id=self.files.id, architecture=self.shape.architecture, model_type=self.shape.model_type, origin=self.files.origin)


def served_name(files: ModelFiles) -> str:
    """What to write into a command: the id, the folder of a config.json, or MODEL where no engine could load what was given (stdin, a config of another name)."""
    folder, name = os.path.split(files.id)
    if name == "config.json":
        return folder or "."
    return "MODEL" if files.origin == "stdin" or name.endswith(".json") else files.id


def load_model(model: str | ModelFiles, revision: str | None = None) -> Model:
    """A model by Hub id, directory, file, `-`, catalogue alias, or files already read. Raises UserError with the way out."""
    files = model if isinstance(model, ModelFiles) else read_model_files(model, revision=revision)
    shape = read_model(files)
    checkpoint = read_checkpoint(files)
    return Model(files=files, shape=shape, checkpoint=checkpoint, family=family(shape))


@cache
def model_at_hand(name: str, *, local: bool, fetch: bool) -> Model | None:
    """A model another command names, where its config is at hand: a local path, the catalogue, and only if asked the Hub; None otherwise."""
    known = models.find(name)
    if known is None and not fetch and not (local and existing(name)):
        return None
    try:
        return load_model(known if known is not None and not local else name)
    except UserError:
        return None
