"""`--watch FILE` prints the answer again when the file changes, survives a half-written file, and ends with 130."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 8, "intermediate_size": 2048, "vocab_size": 1000, "max_position_embeddings": 4096,
}  # fmt: skip


def test_the_answer_follows_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    words = [sys.executable, "-c", "from serveright.cli.main import main; main()", "inspect", str(file), "-q", "--watch", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "LANG": "C.UTF-8"}) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "mha\n"
        assert "watching" in running.stderr.readline()
        file.write_text("{")
        assert "config.json" in running.stderr.readline()
        while "watching" not in running.stderr.readline():
            pass
        file.write_text(json.dumps({**CONFIG, "num_key_value_heads": 2}))
        assert running.stdout.readline() == "gqa\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from serveright.cli.main import main; main()", "inspect", "x", "--watch", str(tmp_path / "no.json")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--watch" in done.stderr
