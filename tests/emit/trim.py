"""Cuts the published schemas down to what emitted objects touch: `python -m tests.emit.trim FOLDER`."""

import json
import sys
from pathlib import Path

from serveright.outputs import emit
from tests.emit.designs import CASES
from tests.emit.strict import trimmed
from tests.emit.test_law import emitted
from tests.emit.test_schemas import SCHEMAS, UNCHECKED, documents, is_custom, schema_name

if __name__ == "__main__":
    touched: dict[str, list[object]] = {}
    for format in emit.formats():
        for name in CASES:
            for document in documents(emitted(format, name)):
                if is_custom(document) and document["kind"] not in UNCHECKED:
                    touched.setdefault(schema_name(document), []).append(document)
    for file, found in touched.items():
        whole = json.loads((Path(sys.argv[1]) / file).read_text())
        (SCHEMAS / file).write_text(json.dumps(trimmed(whole, found), indent=1) + "\n")
