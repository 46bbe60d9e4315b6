#!/bin/sh
# copied from a page about another card
vllm serve Qwen/Qwen3-30B-A3B-FP8 \
  --tensor-parallel-size 8 \
  --quantization fp8 \
  --max-model-len 65536 \
  --enable-auto-tool-choice
