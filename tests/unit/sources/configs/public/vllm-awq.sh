MODEL=${MODEL:-org/qwen-7b-awq}
exec python3 -m vllm.entrypoints.openai.api_server --model "$MODEL" --quantization awq \
  --dtype half --max-num-seqs 64 2>&1 | tee server.log
