#!/bin/bash
export VLLM_LOGGING_LEVEL=INFO
vllm serve org/llama-8b \
  --tensor-parallel-size 2 \
  --max-model-len 32768 \
  --enable-prefix-caching
