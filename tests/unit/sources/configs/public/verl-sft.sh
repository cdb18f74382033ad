torchrun --standalone --nnodes=1 --nproc_per_node=$1 \
    -m verl.trainer.fsdp_sft_trainer \
    data.train_files=train.parquet \
    model.partial_pretrain=org/qwen-1b \
    model.lora_rank=32 model.target_modules=all-linear
