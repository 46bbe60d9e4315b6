"""MiMo V2's encoders, counted: language model and encoders together are what the checkpoint was published with."""

from tests.families.published import load, read, total

VISION = {
    "depth": 28, "fullatt_block_indexes": [0, 9, 18, 27], "hidden_size": 1280, "in_chans": 3, "intermediate_size": 4608, "num_heads": 32,
    "num_key_value_heads": 8, "num_query_groups": 4, "out_hidden_size": 4096, "patch_size": 16, "spatial_merge_size": 2, "spatial_patch_size": 16,
    "temporal_patch_size": 2, "tokens_per_second": 2, "use_sink": True, "visual_token_window_size": 64, "window_size": 128,
}  # fmt: skip
AUDIO = {
    "add_post_norm": True, "audio_channels": 20, "audio_segment_size": 6000, "group_size": 4, "input_full_attention": True, "input_local_attn_heads": 16,
    "input_local_dim": 1024, "input_local_head_dim": 64, "input_local_hidden_dropout": 0.0, "input_local_intermediate_size": 4096, "input_local_layers": 6,
    "out_hidden_size": 4096, "partial_rotary_factor": 1.0, "projection_layers": 2, "rope_theta": 640000, "speech_vocab_size": "1280", "speech_zeroemb_idx": "1024",
}  # fmt: skip
PUBLISHED = 310_756_322_688
"""XiaomiMiMo/MiMo-V2.6-Flash-RL, a figure that no formula here was made from."""


def test_every_parameter_is_counted():
    config = load("XiaomiMiMo--MiMo-V2-Flash")["config"]
    shape = read({**config, "architectures": ["MiMoV2ForCausalLM"], "vision_config": VISION, "audio_config": AUDIO})
    assert total(shape) == PUBLISHED
    assert shape.unknown == ()
    assert shape.modalities == ("text", "image", "video", "audio")
    assert [(tower.kind, tower.layers, tower.hidden) for tower in shape.towers] == [("vision", 28, 1280), ("audio", 6, 1024)]


def test_codes_differ_by_channel():
    config = load("XiaomiMiMo--MiMo-V2-Flash")["config"]
    audio = {**AUDIO, "audio_channels": 3, "speech_vocab_size": "1025-129-129"}
    shape = read({**config, "architectures": ["MiMoV2ForCausalLM"], "audio_config": audio})
    assert [w.shape for w in shape.weights if "speech_embeddings" in w.path] == [(1025, 1024), (129, 1024), (129, 1024)]
