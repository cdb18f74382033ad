FROM vllm/vllm-openai:latest
ENV HF_HOME=/models
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]
CMD ["--model", "org/qwen-7b", "--dtype", "bfloat16"]
