"""Facts on disk, read one file at a time: GPUs, models, engines. The only package that knows where facts lie."""
