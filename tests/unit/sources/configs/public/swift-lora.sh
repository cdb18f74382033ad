# One GPU of 24 GB
CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model org/qwen-7b \
    --train_type lora \
    --dataset 'org/alpaca#500' 'org/self-cognition#500' \
    --torch_dtype bfloat16 \
    --lora_rank 8 \
    --target_modules all-linear \
    --attn_impl flash_attn \
    --packing true \
    --output_dir output
