#!/usr/bin/env bash
tune run --nproc_per_node 4 full_finetune_distributed --config llama3/8B_full \
    dtype=bf16 batch_size=2 compile=True
