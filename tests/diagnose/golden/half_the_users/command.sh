vllm serve deepseek-ai/DeepSeek-V3.1 --tensor-parallel-size 8 --max-model-len 65536 --max-num-seqs 512
