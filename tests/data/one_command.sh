vllm serve Qwen/Qwen3-8B --tensor-parallel-size 3 --max-num-seqs 64 --kv-cache-dtype fp8
