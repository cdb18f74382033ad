python -m sglang.launch_server --model-path org/qwen-7b --tp 2 \
  --attention-backend flashinfer --mem-fraction-static 0.85 --dtype bfloat16
