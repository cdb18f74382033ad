swift sft --model org/qwen-7b --tuner_type lora --dataset org/alpaca \
    --quant_bits 4 --quant_method bnb --torch_dtype bfloat16 \
    --bnb_4bit_compute_dtype bfloat16 --attn_impl sdpa
