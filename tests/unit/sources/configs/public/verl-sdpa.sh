python3 -m verl.trainer.main_ppo \
    actor_rollout_ref.model.path=org/qwen-7b \
    +actor_rollout_ref.model.override_config.attn_implementation=sdpa \
    actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 \
    actor_rollout_ref.rollout.name=sglang
