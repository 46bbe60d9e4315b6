vllm serve openai/gpt-oss-20b --attention-backend FLASHINFER --max-model-len 8192 --max-num-seqs 32
