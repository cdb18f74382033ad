nproc=8
NPROC_PER_NODE=$nproc \
swift rlhf \
    --rlhf_type grpo \
    --model org/qwen-7b \
    --use_vllm true \
    --vllm_mode colocate \
    --train_type full \
    --torch_dtype bfloat16 \
    --deepspeed zero3 \
    --attn_impl flash_attention_2
