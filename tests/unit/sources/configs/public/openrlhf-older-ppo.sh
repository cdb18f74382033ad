ray job submit --address="http://127.0.0.1:8265" \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --pretrain org/llama-8b \
   --zero_stage 3 \
   --bf16 \
   --flash_attn \
   --gradient_checkpointing
