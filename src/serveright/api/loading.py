"""From a name to the nouns: files -> shape, checkpoint, weights, family. The one place where facts are loaded and handed in."""

import os

from msgspec import Struct

from serveright.analysis.weights import weight_need
from serveright.families.read import read_model
from serveright.families.verdict import family
from serveright.formats.read import read_checkpoint
from serveright.readers.model import read_model_files
from serveright.types.model import Checkpoint, Family, ModelShape
from serveright.types.reports import ModelName
from serveright.types.source import ModelFiles
from serveright.types.weights import WeightNeed


class Model(Struct, frozen=True, kw_only=True):
    """Step 1's raw answer, ready for the later steps."""

    files: ModelFiles
    shape: ModelShape
    checkpoint: Checkpoint
    need: WeightNeed
    family: Family

    @property
    def name(self) -> ModelName:
        """How reports name it."""
        return ModelName(id=self.files.id, architecture=self.shape.architecture, model_type=self.shape.model_type, origin=self.files.origin)


def served_name(files: ModelFiles) -> str:
    """What to write into a command: the id, the folder of a config.json, or MODEL where the config came from stdin."""
    if files.id == "-":
        return "MODEL"
    return os.path.dirname(files.id) or "." if files.id.endswith(".json") else files.id


def load_model(model: str | ModelFiles, revision: str | None = None) -> Model:
    """A model by Hub id, directory, file, `-`, catalogue alias, or files already read. Raises UserError with the way out."""
    files = model if isinstance(model, ModelFiles) else read_model_files(model, revision=revision)
    shape = read_model(files)
    checkpoint = read_checkpoint(files)
    return Model(files=files, shape=shape, checkpoint=checkpoint, need=weight_need(shape, checkpoint), family=family(shape))
