set -x
read -r -d '' training_commands <<EOF
openrlhf.cli.train_sft \
   --data.dataset org/orca \
   --model.model_name_or_path org/llama-8b \
   --ds.param_dtype bf16 \
   --ds.attn_implementation flash_attention_2 \
   --ds.zero_stage 2 \
   --ds.packing_samples
EOF
if [[ ${1} != "slurm" ]]; then
    deepspeed --module $training_commands
fi
