vllm serve google/gemma-4-31B-it --tensor-parallel-size 2 --max-model-len 65536 --disable-hybrid-kv-cache-manager
