"""The harvest tool on a wheel small enough to check by eye."""

import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from serveright.types.engine_table import Backend, EngineTable, Quantization, Successor
from tools.harvest import sglang, store, vllm
from tools.harvest.wheel import open_wheel

VLLM = {
    "vllm/envs.py": "environment_variables: dict[str, object] = {'VLLM_A': lambda: 1, 'VLLM_B': lambda: 2}\n",
    "vllm/config/__init__.py": "from vllm.config.cache import CacheConfig, CacheDType, NestedConfig\n",
    "vllm/config/utils.py": "def config(cls):\n    return cls\n",
    "vllm/config/cache.py": """
        from dataclasses import field
        from enum import Enum
        from typing import Literal
        from vllm.config.utils import config
        BlockSize = Literal[16, 32]
        CacheDType = Literal["auto", "fp8"]
        All2AllBackend = Literal["naive"]

        class Backing(Enum):
            GPU = "gpu"
            HOST = "host"

        @config
        class NestedConfig:
            depth: int = 1

        @config
        class CacheConfig:
            block_size: BlockSize | None = None
            cache_dtype: CacheDType = "auto"
            utilization: float = 0.92
            prefix: bool | None = None
            nested: NestedConfig = field(default_factory=NestedConfig)
            names: list[str] = field(default_factory=list)
            backing: Backing = Backing.GPU
            old: int = 4
            \"\"\"This field is deprecated. Use `--block-size` instead.\"\"\"
    """,
    "vllm/config/parallel.py": "from typing import Literal\nAll2AllBackend = Literal['naive', 'pplx']\n",
    "vllm/config/speculative.py": "from typing import Literal\nEagle = Literal['eagle', 'mtp']\nSpeculativeMethod = Literal['ngram', Eagle]\n",
    "vllm/engine/arg_utils.py": """
        import argparse
        from vllm.config import CacheConfig
        from vllm.platforms import current_platform

        class EngineArgs:
            seed: int = 7

            @staticmethod
            def add_cli_args(parser):
                kw = get_kwargs(CacheConfig)
                group = parser.add_argument_group(title="CacheConfig")
                group.add_argument("--block-size", "-bs", **kw["block_size"])
                group.add_argument("--kv-cache-dtype", **kw["cache_dtype"])
                group.add_argument("--gpu-memory-utilization", **{**kw["utilization"], "default": None})
                group.add_argument("--enable-prefix", **kw["prefix"])
                group.add_argument("--nested", **kw["nested"])
                group.add_argument("--names", **kw["names"])
                kw["backing"]["choices"].remove("host")
                group.add_argument("--backing", **kw["backing"])
                group.add_argument("--old", **kw["old"])
                for flag in ["--one", "--two"]:
                    parser.add_argument(flag, type=int, default=EngineArgs.seed)
                if current_platform.is_rocm():
                    parser.add_argument("--only-rocm")
                return parser

        class AsyncEngineArgs(EngineArgs):
            @staticmethod
            def add_cli_args(parser):
                return EngineArgs.add_cli_args(parser)
    """,
    "vllm/entrypoints/openai/cli_args.py": """
        from vllm.engine.arg_utils import AsyncEngineArgs

        class FrontendArgs:
            host: str | None = None
            allow: bool = False

            @classmethod
            def add_cli_args(cls, parser):
                from vllm.engine.arg_utils import get_kwargs
                for key, value in get_kwargs(cls).items():
                    parser.add_argument(f"--{key.replace('_', '-')}", **value)
                return parser

        def make_arg_parser(parser):
            parser.add_argument("model_tag", nargs="?")
            parser.add_argument("--headless", action="store_true", default=False)
            parser = FrontendArgs.add_cli_args(parser)
            return AsyncEngineArgs.add_cli_args(parser)
    """,
    "vllm/tool_parsers/__init__.py": "_TOOL_PARSERS_TO_REGISTER = {'glm47': ('glm47', 'G'), 'hermes': ('h', 'H')}\n",
    "vllm/reasoning/old.py": "@ReasoningParserManager.register_module('qwen3')\nclass P:\n    pass\n",
    "vllm/model_executor/models/registry.py": """
        _TEXT_GENERATION_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM")}
        _SPECULATIVE_DECODING_MODELS = {"EagleLlama": ("llama_eagle", "E"), "LlamaForCausalLM": ("llama", "L")}
        _VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_SPECULATIVE_DECODING_MODELS}
    """,
    "vllm/model_executor/layers/quantization/__init__.py": """
        from typing import Literal
        QuantizationMethods = Literal["fp8", "gptq"]

        def get_quantization_config(quantization):
            if quantization not in everything:
                raise ValueError(quantization)
            from .fp8 import Fp8Config
            method_to_config = {"fp8": Fp8Config}
            return method_to_config[quantization]
    """,
    "vllm/model_executor/layers/quantization/fp8.py": "class Fp8Config:\n    @classmethod\n    def get_min_capability(cls):\n        return 75\n",
    "vllm/v1/attention/backends/registry.py": """
        from enum import Enum
        class AttentionBackendEnum(Enum):
            FLASH = "vllm.v1.attention.backends.flash.FlashBackend"
            UNSURE = "vllm.v1.attention.backends.flash.Unsure"
    """,
    "vllm/v1/attention/backends/flash.py": """
        from vllm.platforms import current_platform
        class Base:
            supported_kv_cache_dtypes = ["auto"]
            @classmethod
            def is_mla(cls):
                return False
            @classmethod
            def supports_sink(cls):
                return True
            @classmethod
            def supports_compute_capability(cls, capability):
                return capability >= DeviceCapability(8, 0)
            @staticmethod
            def get_supported_kernel_block_sizes():
                return [MultipleOf(16)]
            @classmethod
            def get_supported_head_sizes(cls):
                return [64, 128]
        class FlashBackend(Base):
            @classmethod
            def supports_compute_capability(cls, capability):
                if current_platform.is_xpu():
                    return True
                return capability.major in (9, 10) and super().supports_compute_capability(capability)
        class Unsure(Base):
            @classmethod
            def supports_compute_capability(cls, capability):
                return library_says(capability)
    """,
}
SGLANG = {
    "sglang/srt/configs/model_config.py": "multimodal_model_archs = ['LlavaForCausalLM']\n",
    "sglang/srt/server_args.py": """
        import dataclasses
        from typing import Annotated as A, List, Literal, Optional
        CHOICES = ["auto", "fp8_e4m3"]

        @dataclasses.dataclass
        class ServerArgs:
            model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
            kv_cache_dtype: A[str, Arg(help="Dtype.", choices=CHOICES)] = "auto"
            disable_radix_cache: A[bool, "Off."] = False
            page_size: A[Optional[int], "Page."] = None
            mode: A[Literal["null", "prefill"], "Role."] = "null"
            hidden: A[bool, Arg(help="No flag.", no_cli=True)] = False

            @staticmethod
            def add_cli_args(parser):
                add_cli_args_from_dataclass(parser, ServerArgs)
                parser.add_argument("--old-dtype", action=DeprecatedAction, help="Deprecated. Use --kv-cache-dtype instead.")
    """,
    "sglang/srt/models/llama.py": "class LlamaForCausalLM:\n    pass\nclass Phi:\n    pass\nEntryClass = [LlamaForCausalLM, Phi]\n",
    "sglang/srt/models/llava.py": "class LlavaForCausalLM:\n    pass\nEntryClass = LlavaForCausalLM\n",
    "sglang/srt/function_call/function_call_parser.py": "class FunctionCallParser:\n    ToolCallParserEnum = {'qwen25': 1}\n",
    "sglang/srt/layers/quantization/__init__.py": """
        class Fp8Config:
            def get_min_capability(self):
                return 80
        BASE_QUANTIZATION_METHODS = {"fp8": Fp8Config}
        if is_cuda():
            BASE_QUANTIZATION_METHODS.update({"mxfp4": Fp8Config})
        if is_npu():
            BASE_QUANTIZATION_METHODS.update({"ascend": Fp8Config})
    """,
    "sglang/srt/environ.py": "class Envs:\n    SGLANG_A = EnvBool(False)\n",
    "sglang/srt/utils.py": "x = os.getenv('SGLANG_B', '1')\n",
}


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> Path:
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.10\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(zipfile.ZipInfo(inner), dedent(text))
        archive.writestr(zipfile.ZipInfo(f"{name}-{version}.dist-info/METADATA", (2026, 11, 1, 0, 0, 0)), info)
    return path


@pytest.fixture
def vllm_table(tmp_path: Path) -> EngineTable:
    requires = ("torch==2.14.0", "nvidia-cutlass-dsl[cu13]==4.8.0", "protobuf==7.36.1; platform_machine == 's390x'", "pandas; extra == 'bench'")
    return vllm.table(open_wheel(str(wheel(tmp_path, "vllm", "0.99.0", VLLM, requires))))


@pytest.fixture
def sglang_table(tmp_path: Path) -> EngineTable:
    return sglang.table(open_wheel(str(wheel(tmp_path, "sglang", "0.99.0", SGLANG))))


def test_vllm_flags_come_from_the_settings_classes(vllm_table: EngineTable) -> None:
    flags = {f.name: f for f in vllm_table.flags}
    assert flags["--block-size"].aliases == ("-bs",)
    assert flags["--block-size"].choices == ("16", "32")
    assert flags["--block-size"].type == "int"
    assert flags["--kv-cache-dtype"].choices == ("auto", "fp8")
    assert flags["--kv-cache-dtype"].default == "auto"
    assert flags["--gpu-memory-utilization"].default is None
    assert flags["--gpu-memory-utilization"].type == "float"
    assert (flags["--enable-prefix"].switch, flags["--enable-prefix"].negative) == (True, "--no-enable-prefix")
    assert (flags["--nested"].type, flags["--nested"].fields) == ("json", ("depth",))
    assert flags["--names"].repeatable
    assert (flags["--backing"].choices, flags["--backing"].any_case, flags["--backing"].default) == (("gpu",), True, "gpu")
    assert flags["--old"].deprecated is not None
    assert flags["--two"].default == 7
    assert flags["--headless"].default is False
    assert "--host" in flags
    assert flags["--allow"].negative == "--no-allow"
    assert "--only-rocm" not in flags
    assert "model_tag" not in {n.lstrip("-") for n in flags}


def test_vllm_registries(vllm_table: EngineTable) -> None:
    assert vllm_table.tool_parsers == ("glm47", "hermes")
    assert vllm_table.reasoning_parsers == ("qwen3",)
    assert [(a.name, a.kind, a.module) for a in vllm_table.architectures] == [
        ("EagleLlama", "speculative", "llama_eagle"),
        ("LlamaForCausalLM", "text", "llama"),
    ]
    assert vllm_table.quantizations == (Quantization(name="fp8", min_capability=75), Quantization(name="gptq"))
    assert vllm_table.kv_dtypes == ("auto", "fp8")
    assert vllm_table.speculative_methods == ("ngram", "eagle", "mtp")
    assert vllm_table.all2all_backends == ("naive", "pplx")
    assert vllm_table.environment == ("VLLM_A", "VLLM_B")


def test_vllm_backend_limits_are_read_or_left_open(vllm_table: EngineTable) -> None:
    flash, unsure = vllm_table.backends
    limits = {"kind": "dense", "kv_dtypes": ("auto",), "block_sizes": (16,), "head_sizes": (64, 128), "sinks": True}
    assert flash == Backend(name="FLASH", capabilities=(90, 100, 103), **limits)
    assert unsure == Backend(name="UNSURE", capabilities=(), **limits)


def test_requirements_are_those_of_a_linux_server(vllm_table: EngineTable) -> None:
    assert vllm_table.requires == {"torch": "==2.14.0", "nvidia-cutlass-dsl": "==4.8.0", "cuda": "13"}
    assert (vllm_table.version, vllm_table.released, vllm_table.python) == ("0.99.0", "2026-11-01", ">=3.10")


def test_sglang_flags(sglang_table: EngineTable) -> None:
    flags = {f.name: f for f in sglang_table.flags}
    assert set(flags) == {"--model-path", "--kv-cache-dtype", "--disable-radix-cache", "--page-size", "--mode", "--old-dtype"}
    assert flags["--model-path"].aliases == ("--model",)
    assert flags["--kv-cache-dtype"].choices == ("auto", "fp8_e4m3")
    assert flags["--disable-radix-cache"].switch
    assert flags["--disable-radix-cache"].negative is None
    assert flags["--page-size"].type == "int"
    assert flags["--mode"].choices == ("null", "prefill")


def test_sglang_registries(sglang_table: EngineTable) -> None:
    assert [(a.name, a.kind) for a in sglang_table.architectures] == [("LlamaForCausalLM", "text"), ("LlavaForCausalLM", "multimodal"), ("Phi", "text")]
    assert sglang_table.quantizations == (Quantization(name="fp8", min_capability=80), Quantization(name="mxfp4", min_capability=80))
    assert sglang_table.tool_parsers == ("qwen25",)
    assert sglang_table.environment == ("SGLANG_A", "SGLANG_B")


def test_tables_are_written_the_same_way_twice_and_indexed(tmp_path: Path, sglang_table: EngineTable) -> None:
    first = store.write(tmp_path, sglang_table).read_bytes()
    assert store.write(tmp_path, sglang_table).read_bytes() == first
    assert store.read(tmp_path / "sglang/0.99.0.json.gz") == sglang_table
    found = store.successors([sglang_table])
    assert found == {"--old-dtype": Successor(to="--kv-cache-dtype", text="Deprecated. Use --kv-cache-dtype instead.", version="0.99.0")}
