python3 -m sglang.launch_server --model-path Qwen/Qwen3.6-35B-A3B-FP8 --max-running-requests 128 --context-length 32768
