"""Audit a fleet with Ray Data: `python fleet_ray.py FOLDER OUT` reads every file below FOLDER and writes the rows as Parquet."""

import sys

import ray

from serveright.api.rows import audit_file

files = ray.data.read_binary_files(sys.argv[1], include_paths=True, file_extensions=["yaml", "yml", "sh"])
rows = files.flat_map(lambda file: audit_file(file["path"], file["bytes"]))
rows.write_parquet(sys.argv[2])
