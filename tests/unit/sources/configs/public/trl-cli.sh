accelerate launch --config_file zero3.yaml --mixed_precision bf16 sft.py \
    --model_name_or_path org/qwen-7b \
    --attn_implementation flash_attention_2 \
    --bf16 --gradient_checkpointing \
    --use_peft --load_in_4bit \
    --output_dir out
