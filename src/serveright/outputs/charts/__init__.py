"""Pictures as Vega-Lite specifications: one module a picture, pure functions from report parts to a `Chart`. Nothing here draws; `outputs.draw` does."""
