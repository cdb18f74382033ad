set -x
train=$HOME/data/train.parquet
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=$train \
    actor_rollout_ref.model.path=org/qwen-7b \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.fsdp_config.param_offload=False \
    actor_rollout_ref.rollout.name=vllm \
    trainer.n_gpus_per_node=8 $@
