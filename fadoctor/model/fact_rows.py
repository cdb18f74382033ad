"""The facts, one in a line: name, type, provider and meaning with its unit.

The shorter tables are for each package, extension and Hub kernel: their names stand behind a
prefix, and who provides them is said where they are put together, in `catalogue`.
"""

from __future__ import annotations

ENVIRONMENT_VARIABLES = (
    "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING",
    "CUDA_LAUNCH_BLOCKING", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "PYTHONPATH", "PYTHONNOUSERSITE",
    "VIRTUAL_ENV", "CONDA_PREFIX",
    "TORCH_CUDA_ARCH_LIST", "MAX_JOBS", "NVCC_THREADS", "CC", "CXX", "TRITON_INTERPRET",
    "TRITON_PTXAS_PATH", "TRITON_LIBCUDA_PATH", "TRITON_CACHE_DIR", "FLASH_ATTENTION_*",
    "FLASH_ATTN_*", "VLLM_ATTENTION_BACKEND", "VLLM_FLASH_ATTN_VERSION", "VLLM_USE_V1",
    "XFORMERS_*", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ROCM_ARCH", "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "ROCM_HOME", "ROCM_PATH", "UNSLOTH_*",
    "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "TORCH_ROCM_FA_PREFER_CK", "VLLM_ROCM_*",
    "ACCELERATE_MIXED_PRECISION", "ACCELERATE_USE_DEEPSPEED", "ATTN_BACKEND",
    "USE_FLASH_ATTENTION", "BNB_CUDA_VERSION", "KERNELS_CACHE", "HF_KERNELS_CACHE",
    "LOCAL_KERNELS", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "USE_HUB_KERNELS",
    "DIFFUSERS_ATTN_BACKEND",
)  # fmt: skip
"""The variables that are read; a trailing ``*`` stands for any ending. No other is looked at."""

FACT_ROWS = """
host.os                | text    | host        | linux, windows or macos
host.kernel            | text    | host        | kernel release, as uname prints it
host.machine           | text    | host        | x86_64, aarch64, amd64, arm64 as uname prints it, lower case
host.platform          | text    | host        | wheel platform without version: linux_x86_64, linux_aarch64, musllinux_x86_64, win_amd64, macosx_arm64
host.distribution      | text    | host        | PRETTY_NAME of os-release
host.libc              | text    | host        | glibc or musl
host.glibc             | version | host        | glibc version; Absent on musl and off Linux
host.glibcxx           | version | host        | highest GLIBCXX_ version of the libstdc++ that is found
host.container         | text    | host        | docker, podman, kubernetes, lxc or container; Absent on a plain host
host.wsl               | boolean | host        | running under the Windows Subsystem for Linux
host.wsl_version       | text    | host        | 1 or 2, by its kernel; Absent outside of WSL
host.windows_build     | text    | host        | build of Windows: 22631, 26100; Absent on other systems
host.long_paths        | boolean | host        | Windows allows paths of more than 260 characters; Absent on other systems
host.vc_runtime        | version | host        | Visual C++ redistributable for x64, since 2015; Absent where it is not installed, and on other systems
host.tegra             | boolean | host        | an NVIDIA Jetson, whose drivers have numbers of their own; Absent off Linux
host.l4t               | version | host        | release of Jetson Linux: 35.4.1 with JetPack 5.1.2; Absent where this is no Jetson
host.memory_bytes      | integer | host        | physical memory, bytes, or the cgroup limit where lower
host.cores             | integer | host        | processors this process may use
python.version         | version | interpreter | X.Y.Z of the target's interpreter
python.implementation  | text    | interpreter | cpython, pypy
python.tag             | text    | interpreter | cp311 and the like
python.abi_tag         | text    | interpreter | cp311, cp313t
python.ext_suffix      | text    | interpreter | sysconfig's EXT_SUFFIX
python.platform_tag    | text    | interpreter | sysconfig.get_platform(), as in a wheel name
python.free_threaded   | boolean | interpreter | built without the GIL
python.headers         | text    | interpreter | path of Python.h; Absent where it is not installed
python.embedded        | boolean | interpreter | an embedded Python of Windows, as portable programs have it; Absent on other systems
python.import_library  | text    | interpreter | path of python311.lib, which compilers on Windows link with; Absent where it is not installed, and on other systems
python.externally_managed | boolean | interpreter | an EXTERNALLY-MANAGED file forbids pip
python.installer       | text    | interpreter | what made or manages the environment: venv, uv, conda, virtualenv, system
driver.version         | version | gpu         | NVIDIA driver version; Absent on a Jetson
driver.tegra           | version | derived     | driver version of a Jetson, which is compared with no other driver's
driver.cuda            | version | gpu         | highest CUDA version that the driver supports
driver.library         | text    | driver      | path of libcuda.so.1 as the loader finds it
driver.library_version | version | driver      | driver version that libcuda.so.1 belongs to, by its file name
driver.nvml            | text    | gpu         | how GPUs were read: nvml, nvidia-smi
driver.device_nodes    | boolean | driver      | /dev/nvidia0, /dev/nvidiactl (or /dev/dxg under WSL) are there
driver.kernel_module   | text    | driver      | open or proprietary
driver.forward_compat  | boolean | driver      | a cuda-compat libcuda is the one the loader finds
gpu.count              | integer | gpu         | GPUs of the machine, NVIDIA and AMD, MIG instances counted with their GPU
gpu.visible_count      | integer | gpu         | GPUs that CUDA_VISIBLE_DEVICES leaves visible
gpu[].name             | text    | gpu         | product name as the driver gives it
gpu[].vendor           | text    | gpu         | nvidia or amd
gpu[].compute_capability | version | gpu       | X.Y, NVIDIA only
gpu[].gfx              | text    | gpu         | gfx942 and the like, AMD only
gpu[].isa              | text    | derived     | the AMD GPU that programs take it for: gpu[].gfx, or what HSA_OVERRIDE_GFX_VERSION says
gpu[].discrete         | boolean | derived     | an AMD GPU on a card, and not in a processor; Absent for NVIDIA's
gpu[].memory_bytes     | integer | gpu         | total memory, bytes
gpu[].mig              | boolean | gpu         | Multi-Instance GPU mode is on
gpu[].tensor_cores     | boolean | derived     | it has units for matrix products in half precision
gpu[].outdone_by       | list    | derived     | other visible GPUs on which works what fails on this one
gpu[].selection        | text    | derived     | ordinals in PCI bus order of the GPUs to leave visible instead of this one
gpu[].visible          | boolean | gpu         | CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) leaves it visible
rocm.version           | version | rocm        | ROCm that is installed, by /opt/rocm/.info/version or its dev package; Absent where none is
rocm.driver            | text    | rocm        | version of the kernel module amdgpu, or inbox where it is the kernel's own; Absent where it is not loaded
rocm.kfd_access        | boolean | rocm        | this process may read and write /dev/kfd; Absent where it is not there
rocm.kfd_group         | text    | rocm        | group that /dev/kfd belongs to: render, video; Absent where it is not there
toolkit.count          | integer | toolkit     | CUDA toolkits found
toolkit[].version      | version | toolkit     | version of its nvcc, X.Y
toolkit[].nvcc         | text    | toolkit     | path of nvcc
toolkit[].origin       | text    | toolkit     | how it was found: CUDA_HOME, PATH, /usr/local, conda, wheel
toolkit.in_image       | boolean | derived     | false where the container image of a manifest has no nvcc and no command adds one; Absent where no image decides
toolkit.nvcc.version   | version | toolkit     | nvcc that a source build would use (CUDA_HOME, then PATH, then /usr/local/cuda)
toolkit.nvcc.path      | text    | toolkit     | its path
toolkit.gcc.version    | version | toolkit     | gcc (or $CC)
toolkit.gcc.path       | text    | toolkit     | its path
toolkit.gxx.version    | version | toolkit     | g++ (or $CXX)
toolkit.gxx.path       | text    | toolkit     | its path
toolkit.msvc.version   | version | toolkit     | newest Visual C++ tools for x64, by their folder: 14.44.35207; Absent where there are none, and on other systems
toolkit.msvc.path      | text    | toolkit     | path of its cl.exe
toolkit.ninja.version  | version | toolkit     | ninja
toolkit.ptxas.version  | version | toolkit     | ptxas that triton would use: TRITON_PTXAS_PATH or the one bundled with triton
toolkit.ptxas.path     | text    | toolkit     | its path
packages.installed     | mapping | packages    | every distribution: normalised name -> version
packages.named         | mapping | derived     | distributions that a text names in one version, which may be some of all; Absent of what was looked at itself
packages.duplicated    | mapping | packages    | distributions with more than one metadata folder on the path -> versions, joined by comma
packages.broken        | mapping | packages    | metadata folders that cannot be used -> why (half-removed, no Version, not text)
packages.hidden        | mapping | packages    | packages of the environment that PYTHONPATH or the user site hides -> the version that is imported, and the one that is not; Absent where there is none
packages.hidden_by     | list    | packages    | the folders that hide them
packages.hidden_how    | list    | packages    | how these come first: PYTHONPATH, user site
packages.nvidia        | mapping | packages    | nvidia-* wheels -> version
packages.unfit_wheels  | mapping | derived     | packages whose wheel, named by its address, is for another platform or Python -> which; Absent of what is installed
packages.contradicted  | mapping | derived     | packages that files ask for in a way that no release can meet -> how; Absent of what is installed
packages.channel_python | text   | derived     | the newest Python that PyTorch's conda channel has the torch of the files for; Absent where it has one for theirs
packages.too_new       | mapping | derived     | packages that come along in a release whose names a pinned one cannot import -> which that is; Absent of what is installed
packages.too_new_below | text    | derived     | below which releases these have to be: huggingface-hub<0.26.0; Absent where there are none
packages.too_new_unless | text    | derived     | packages that may keep them older, in a way that no table says; Absent where there are none
packages.moved_torch   | mapping | derived     | packages that a later command leaves open, whose newest release replaces torch -> how; Absent of what is installed
packages.moved_torch_bound | text | derived    | what these have to be for the torch that is there: bitsandbytes<0.48.0; Absent where there are none
packages.moved_library | mapping | derived     | packages of later commands that move a library out of what an earlier package compares at import -> how; Absent of what is installed
packages.moved_library_bound | text | derived  | what that library has to be: huggingface-hub<1.0; Absent where there is none
packages.undone_pin | mapping | derived     | packages of later commands that replace what an earlier one pins -> how; Absent of what is installed
packages.undone_pin_bound | text | derived  | that pin: transformers==4.49.0; Absent where there is none
packages.replaced_builds | mapping | derived   | packages that are compiled for a torch that a later command replaces -> where; Absent of what is installed
packages.before_torch  | mapping | derived     | commands that import torch before any command installs it -> where; Absent of what is installed
packages.resolved      | text    | derived     | which resolver decided what files leave open, by --resolve; Absent where none was asked
packages.isolated_builds | mapping | derived   | packages that files build in isolation, where their setup misses torch -> where; Absent of what is installed
packages.isolated_by_new_pip | mapping | derived | packages that pip 25.3 and newer build so, though torch is installed before -> where; Absent where none
packages.isolated_torch | mapping | derived    | packages that files build in isolation, where their setup asks for a torch of its own -> which; Absent where none
packages.unserved      | mapping | derived     | packages of which the one index that files name has no such release -> which it has; Absent of what is installed
packages.unlabelled    | mapping | derived     | packages that files ask for with the label of a build, +cu124, and no index that has such -> which; Absent where none
packages.of_pypi       | mapping | derived     | packages that files ask for in a release, and that no index which they name but PyPI has -> which; Absent where none is known to be
packages.unserved_instead | text | derived     | on which indexes those releases are; Absent where there are none
packages.isolated_in   | text    | derived     | kind of the file, or the tool, that builds them so; Absent where none does
packages.mistaken      | mapping | derived     | what PyPI has something else under, or nothing -> what that is
packages.mistaken_instead | text | derived     | where that is to be had which their names mean; Absent where there are none
packages.mislabelled   | mapping | derived     | packages whose labels say that they were built for another torch, CUDA or C++ ABI -> for which; Absent where none is known to be
packages.mislabelled_instead | text | derived  | what to do about those; Absent where there are none
packages.of_former_torch | mapping | derived  | packages of an image of NVIDIA that were built for a torch which was replaced since -> version; Absent where none is known to be
packages.file_labels   | mapping | derived     | distributions whose file a text says was installed -> the label in its name; Absent of what was looked at itself
torch.cuda             | version | torch       | torch.version.cuda; Absent in CPU and ROCm builds
torch.hip              | version | torch       | torch.version.hip
torch.rocm             | text    | derived     | label of the index that has this build for AMD's GPUs: rocm7.2; Absent of other builds
torch.aotriton         | version | derived     | release of AOTriton in a torch for ROCm, which computes its attention; Absent where it has none
torch.rocm_archs       | list    | derived     | AMD GPUs that a torch for ROCm has code for: gfx942
torch.rocm_unsure      | list    | derived     | AMD GPUs of which no source says whether it has
torch.git              | text    | torch       | torch.version.git_version
torch.build            | text    | torch       | pypi, cu128 and the like, cpu, rocm, or other (NGC, nightly, conda, own builds)
torch.cxx11_abi        | boolean | torch       | built with the new C++ string ABI
torch.foreign_cuda     | mapping | binaries    | CUDA libraries that LD_LIBRARY_PATH puts in the place of those that torch brings -> their paths; Absent where there is none
torch.foreign_cudnn    | version | binaries    | version of another cuDNN on LD_LIBRARY_PATH, whose parts torch's own would open
torch.foreign_cudnn_in | text    | binaries    | its folder
torch.other_python     | text    | derived     | X.Y of the Python that torch was installed for, where that is not the one here
torch.other_platform   | text    | derived     | linux_x86_64, linux_aarch64, win_amd64 or macosx_arm64, for which torch was installed, where that is not the one here
torch.libraries        | list    | torch       | shared libraries in torch/lib
flash_attn.extension   | text    | flash_attn  | file name of flash_attn_2_cuda*.so or .pyd; Absent where there is none
flash_attn.interface   | boolean | flash_attn  | flash_attn/flash_attn_interface.py is there
flash_attn.namespace_only | boolean | flash_attn | a folder flash_attn without __init__.py, as flash-attn-4 leaves it
flash_attn.wheel.origin | text   | flash_attn  | official, community or local: where the installed file came from, if recorded
flash_attn.wheel.torch | version | flash_attn  | X.Y in the file name, the local version or direct_url
flash_attn.wheel.cuda  | text    | flash_attn  | cu12, cu123, cu128 as named there
flash_attn.wheel.cuda_major | text | flash_attn | 11, 12, 13
flash_attn.wheel.cxx11_abi | boolean | flash_attn | the label in the file name, which can lie
flash_attn.wheel.prebuilt | boolean | derived  | an installer finds a prebuilt wheel of what is not there yet; false where it compiles
flash_attn.wheel.python | text   | flash_attn  | cp311: tag of WHEEL or of the extension's file name
transformers.checks    | mapping | packages    | what it compares by itself while it is imported, by its installed sources -> specifier; Absent where they have no such table
xformers.extension     | text    | packages    | file name of xformers/_C*.so or .pyd
hub.cache              | text    | hub         | folder of the Hub's cache; Absent where there is none
hub.kernels            | mapping | hub         | kernels in it, owner/name@branch -> names of their builds
hub.models             | mapping | hub         | the same of those that lie there as models, for kernels below 0.14
hub.local              | mapping | hub         | the same of the folders that LOCAL_KERNELS names, "." for one that is a build itself
hub.local_wrong        | list    | hub         | entries of LOCAL_KERNELS that name no folder
hub.offline            | list    | hub         | owner/name@branch that is found by its name without the network
hub.loads              | mapping | hub         | owner/name@branch, build and torch, of those that are taken -> yes, what the loader would say, or ? and why nobody knows
hub.code               | mapping | hub         | the same -> what its containers of GPU code hold, one after another
hub.archs              | mapping | hub         | owner/name@branch and build -> compute capabilities that its metadata name
hub.metadata           | mapping | hub         | owner/name@branch and build -> keys of its metadata
hub.needs              | mapping | hub         | owner/name@branch and build -> what it needs of Python, as kernels calls it
contract.count         | integer | contracts   | names that one package asks of another, which has them not
contract.problem       | text    | contracts   | why these may not be all; Absent where they are
contract[].asker       | text    | contracts   | the distribution that asks
contract[].asker_version | version | contracts | its version
contract[].provider    | text    | contracts   | the distribution that is asked
contract[].provider_version | version | contracts | its version
contract[].module      | text    | contracts   | the module that is asked; of one that is not there its package
contract[].wanted      | text    | contracts   | the name, or the module, that is not there
contract[].asked       | text    | contracts   | the same as tables know it, whatever a plan changes: module:name, or the module
contract[].told        | text    | contracts   | which releases have the name, and which ask for it; Absent where nothing was read of it
contract[].way         | text    | contracts   | gone or new: whether the release that is asked is too new or too old for the name
contract[].upgrade     | text    | contracts   | the releases of the asker which ask no longer, as an installer takes them
contract[].other       | text    | contracts   | the releases that have the name, as an installer takes them
contract[].place       | text    | contracts   | file and line of the asker, below the folder of packages
contract[].breaks      | list    | contracts   | statements that stop because of it
contract[].at_import   | boolean | contracts   | whether one of them imports a package itself
config.dtype           | text    | config      | dtype that q, k and v are computed in, by what a configuration asks for: bf16, fp16, fp32
config.attention       | text    | config      | attention implementation that a configuration asks for, as its framework calls it
log.packages           | list    | log         | packages that a log names with a version or in a path, by the prefix of their facts
log.causes             | list    | log         | the rules whose wordings a log shows; Absent where there is no log
log.setting            | text    | log         | the setting whose value a log calls wrong; Absent where there is no log
log.module             | text    | log         | the module or extension that a log names as missing; Absent where there is no log
log.name               | text    | log         | the name that a log calls missing; Absent where there is no log
log.class              | text    | log         | the class of an object that lacks an attribute; Absent where there is no log
log.ptx                | text    | log         | the version of PTX that a log calls too new; Absent where there is no log
log.built              | text    | log         | the package whose build a log shows, as installers call it; Absent where there is none
log.label              | text    | log         | the one label of a build of torch that a log names, such as cu130; Absent where it names none
log.vendor             | text    | log         | whose GPU a log is about: amd, nvidia or intel; Absent where it tells of none, or of several
log.made_for           | list    | log         | the chips of AMD for which an image or archive is made, by the names that a log has; Absent where it names none
log.unfit_wheel        | text    | log         | why an installer refuses the one wheel that a log names on the machine that it tells of; Absent where it does not
log.unpublished        | text    | log         | the wheel of flash-attn that a log names and no release page has; Absent where there is none
log.minimum            | text    | log         | the lowest release of a toolkit that a log asks for; Absent where there is none
log.package            | text    | log         | the package that a log names as missing, or as installed elsewhere; Absent where there is none
log.toolkit            | text    | log         | the folder of a CUDA toolkit that a log shows and that fits torch; Absent where there is none
log.libcuda            | text    | log         | the path of the driver's libcuda.so.1 that a log shows; Absent where there is none
log.python             | text    | log         | the path of the Python that runs a log's program; Absent where there is none
log.devel_image        | text    | log         | the image with nvcc of the one that a log names; Absent where there is none
log.jobs               | text    | log         | how many jobs of a build fit into the machine's memory that a log names; Absent where it names none
log.gpu_share          | text    | log         | the share of a GPU's memory that a server finds free, such as 0.42; Absent where a log names none
log.sought             | text    | log         | package and release that an installer finds no file of; Absent where a log shows none
log.sought_python      | text    | log         | the Python that has files of it and of its companions, and that a log does not name
log.sought_own         | text    | log         | the Python that a log tells, where it has files of what an installer finds none of
log.sought_by          | text    | log         | the one Python whose files are the versions that an installer lists
log.sought_where       | text    | log         | the systems and Pythons that have files of it, where those of a log have none
log.release            | text    | log         | the release of a package that a log calls for; Absent where there is no log
log.range              | text    | log         | the releases of a package that a message asks for, as an installer takes them; Absent where there is no log
log.name_told          | text    | log         | which releases have a name that a log misses, and which ask for it; Absent where nothing was read of it
log.name_way           | text    | log         | gone or new: whether the release that is asked is too new or too old for the name
log.name_upgrade       | text    | log         | the releases of the package that asks which ask no longer, as an installer takes them
log.name_other         | text    | log         | the releases that have the name, as an installer takes them
log.name_nearest       | version | log         | the oldest release that has a new name, or the newest one that still has a name that is gone
log.name_instead       | text    | log         | what is used in the place of an attribute that an object lacks
log.name_mixed         | boolean | log         | the package asks itself, or all its releases have the name: its files are of two releases, or damaged
log.name_here          | boolean | log         | the release that a log names has the name: an older one was imported, or that of another Python
fleet.differs          | list    | fleet       | what differs between the nodes of a job by the table fleet-agreement: nccl, torch; Absent where there is one node
fleet.told             | mapping | fleet       | the same -> its values, and on which nodes
config.framework       | text    | config      | whose words the configuration is written in: transformers, llamafactory, axolotl, deepspeed, vllm and others
config.quantization    | text    | config      | 4bit, 8bit (of bitsandbytes), or another method by name: gptq, awq, fp8
config.use_dora        | boolean | config      | DoRA adapters
config.tf32            | boolean | config      | TF32 matrix products
config.purpose         | text    | config      | training, inference
config.weights_dtype   | text    | config      | dtype that the weights are loaded in: bf16, fp16, fp32, fp8; auto is that of the checkpoint
config.checkpoint_dtype | text   | config      | dtype that a model's config.json gives
config.compute_dtype   | text    | config      | dtype that quantised layers compute in: bf16, fp16, fp32
config.autocast        | text    | config      | dtype of the trainer's autocast: bf16, fp16; Absent where it is off
config.bf16            | boolean | config      | the trainer's switch bf16
config.fp16            | boolean | config      | the trainer's switch fp16
config.fp8             | boolean | config      | matrix products in fp8
config.deepspeed_precision | text | config     | precision of the DeepSpeed configuration: bf16, fp16, fp32, auto
config.deepspeed_bf16  | boolean | config      | bf16.enabled of the DeepSpeed configuration
config.deepspeed_fp16  | boolean | config      | fp16.enabled of the DeepSpeed configuration
config.accelerate_precision | text | config    | mixed_precision of the accelerate configuration: bf16, fp16, fp8, no
config.fsdp_precision  | text    | config      | dtype to which FSDP casts parameters: bf16, fp16, fp32
config.kv_cache_dtype  | text    | config      | dtype of a server's cache of keys and values: auto, fp8
config.adapter         | text    | config      | lora, full, freeze and others
config.adapter_modules | list    | config      | modules that adapters are put on; all, all-linear
config.head_dim        | integer | config      | elements of one attention head
config.dropout         | text    | config      | dropout of the attention, a number
config.sliding_window  | integer | config      | tokens of the sliding window
config.softcap         | text    | config      | soft capping of the attention's logits, a number
config.sinks           | boolean | config      | the attention has sinks
config.padding_side    | text    | config      | left or right
config.device_map      | text    | config      | where the weights go: auto, cpu, cuda:0
config.gradient_checkpointing | boolean | config | activations are computed again
config.compile         | boolean | config      | torch.compile
config.model_type      | text    | config      | model_type of a model's config.json
config.model           | text    | config      | name or path of the model
config.trust_remote_code | boolean | config    | the model's own code is run
config.upcast_layernorm | boolean | config     | layer norms are made float32
config.use_unsloth     | boolean | config      | unsloth patches the model
config.attn_flash      | boolean | config      | the flash path of x-transformers
config.rotary          | boolean | config      | rotary position embeddings of x-transformers
config.vision_type     | text    | config      | model_type of the part of a model that sees, as its config.json has it
config.dtype_chosen    | text    | config      | who is asked whether it is bf16 or fp16: by torch, whose is_bf16_supported() decides
config.dtype_keyword   | text    | config      | how from_pretrained is told the dtype: dtype, torch_dtype
config.dtype_left_to   | text    | config      | who chooses the dtype of a model that a script loads without one: transformers
config.default_dtype   | text    | config      | what torch.set_default_dtype is given: bf16, fp16, fp32
config.trainer_arguments | list  | config      | arguments of a Trainer that it does not have: bf16, fp16
config.sdpa_kernel     | list    | config      | backends that sdpa_kernel allows: flash, efficient, cudnn, math
config.conflict        | list    | config      | what two configurations say differently
"""

HUB_ROWS = """
taken_by   | text    | who takes it here where nothing else is installed: transformers, diffusers
repository | text    | the kernel that is fetched where this FlashAttention is not installed; Absent where none is
branch     | text    | the branch of it: main, v1, v3
broken     | text    | why it cannot be used although it is fetched
cached     | boolean | that branch lies in the Hub's cache, where the kernels that is here looks for it
build      | text    | the build of it that this kernels takes; Absent where none of those in the cache fits
download   | text    | the build that it would download, by the table of published builds; Absent where none of those fits
refused    | text    | why none fits, build by build
archs      | list    | compute capabilities that the metadata of that build name: 8.0, 9.0a, 9.0+PTX; Absent where nothing is compiled
loads      | boolean | the loader would load that build after this torch; Absent where nothing of it is compiled, or was opened
says       | text    | what the loader would say where it does not
runs_on    | list    | compute capabilities of the GPUs here for which these are code, and its libraries hold some
no_code_for | list   | compute capabilities of the GPUs here for which these are none
lacks      | list    | Python packages that it imports and that are not installed
doubt      | text    | what is held against this version of it
hearsay    | text    | why what would be downloaded is not certain
gigabytes  | text    | what one build of it takes
offline    | boolean | that branch is found by its name without the network: refs of the cache name it, and nothing of it is missing
lacking    | list    | keys that this kernels needs of the metadata of that build, and that they lack; Absent where it has all
needs      | list    | what that build needs of Python, as kernels calls it; Absent where it needs nothing
local      | text    | the folder that LOCAL_KERNELS names for it, where this kernels heeds that; branch and build are then those in it
"""

PACKAGE_ROWS = """
version         | version | version of the distribution, from its metadata
distribution    | text    | normalised name of the distribution that is installed
location        | text    | folder that holds it, below a named root
installer       | text    | INSTALLER: pip, uv, conda
direct_url      | text    | URL or path that it was installed from, if recorded (PEP 610), credentials removed
editable        | boolean | an editable install
wheel.tags      | list    | Tag lines of WHEEL
requires        | mapping | normalised name -> specifier, where the marker holds for this target; "" where any version will do
requires_lines  | list    | what it requires as it is written, conditions included, but for what only extras ask; Absent where nothing hangs on a condition
requires_python | text    | Requires-Python
missing_files   | integer | files of RECORD that are not there, counted over at most 2,000 entries
gone            | boolean | files of RECORD are missing, and Python finds no package of that name; Absent where that was not asked: editable, or without RECORD
hidden_version  | version | of the environment's own, where PYTHONPATH or the user site hides it; Absent where nothing does
"""


REQUIRER_ROWS = """
distribution    | text    | normalised name
version         | version | version of the metadata
installer       | text    | INSTALLER: pip, uv, conda
requires        | mapping | what of the stack it requires -> specifier; all that it requires where it belongs to the stack
requires_lines  | list    | the same as it is written, with its conditions; Absent where nothing hangs on one
"""

EXTENSION_ROWS = """
file       | text    | path of the extension; Absent where there is none
size       | integer | its bytes
recorded_size | integer | bytes that the RECORD of its package gives; Absent where it gives none
failure    | text    | why it would not load: missing-library, missing-version, undefined-symbol, truncated, not-elf (not a library at all), other-machine, other-python (linked to the library of another Python), processor (it needs a newer one), static-tls (no room for thread-local variables), refused (it forbids to be opened by a program that runs), torch (torch itself does not load)
missing    | text    | the library, version or symbol that is missing
cause      | text    | what kind of thing that is: string-abi, torch-function, stable-abi, torch-library, cuda-runtime, cuda-library, nccl, glibc, libstdcxx, python, other
wanted_by  | text    | the file that asks for it: the extension, or a library that it needs
provider   | text    | the library that should have it, as it was found; Absent where none was found
found_by   | text    | how that library was found: torch, rpath, LD_LIBRARY_PATH, LD_PRELOAD, runpath, ld.so.cache, default folder
says       | text    | what the loader would say
hint       | text    | what is wanted and what is there instead, demangled
undefined  | list    | symbols that nothing provides, at most 20 of them
unfound    | list    | DLLs that it or one of its libraries needs, and that no folder has which Windows searches; Windows alone can prove it, so that `failure` is unknown; Absent on other systems
unfound_kind | text  | whose library the first of them is: vc-runtime, openmp, python, torch, cuda-runtime, cuda-library, cudnn, zlib, rocm, other
needed     | list    | its DT_NEEDED, or the DLLs that it is loaded with
glibc      | version | highest GLIBC_ version that it needs
glibcxx    | version | highest GLIBCXX_ version that it needs
cxx11_abi  | boolean | C++ string ABI of what it calls in torch; Absent where nothing tells
cuda_major | text    | major of the libcudart in its DT_NEEDED, or of the cudart64 DLL that it needs: 11, 12, 13; Absent where there is none
code       | mapping | what its containers of GPU code hold -> how many hold it; 8.0 9.0a 9.0+PTX@8.4 is machine code for 8.0 and 9.0a and PTX of ISA 8.4 for 9.0
arch_list  | list    | compute capabilities with machine code anywhere in it, of torch in every part of it, architecture-specific ones with their letter: 8.0, 9.0a
gfx        | list    | AMD GPUs that it has code for: gfx90a, gfx942; Absent where it has none for AMD's
ptx        | version | lowest compute capability of its PTX; Absent where it has none
"""

DERIVED_ROWS = """
optional    | boolean | its package does without it
runs_on     | list    | compute capabilities of the GPUs here for which it has machine code, PTX, or both in part
no_code_for | list    | compute capabilities of the GPUs here for which none of its containers has anything
jit_for     | list    | compute capabilities of the GPUs here for which it has PTX only
jit_isa     | version | highest ISA of the PTX that would be compiled for them
"""

UNMET_ROWS = """
unmet       | mapping | what it requires and is not met here -> the specifier, and what is installed; Absent where all is met
unmet_alone | list    | the requirements of these that no rule of their own speaks of, as an installer takes them
missing     | list    | the names of these that are not installed at all
unmet_told  | mapping | those of `unmet` that no rule of their own speaks of
unmet_outside | mapping | those of `unmet_told` that are installed in another version -> that version
unmet_checked | list  | the names of `unmet_told` that the package compares by itself while it is imported
unmet_why   | text    | what another version of these does
unmet_stake | text    | what is at stake where these are changed
unmet_fits  | text    | the release of it that accepts what is installed, as an installer takes it; Absent where the tables list none
unmet_torch | list    | the torch that it accepts, with the torchvision and torchaudio for that, as an installer takes them; Absent where torch can stay, where its build has an index of its own, or none is known
unmet_torch_from | text | the same where its build has an index of its own, with that index
unmet_refused | boolean | true where the tables list its releases, and each refuses something that is installed
unmet_apart | text    | installed packages that require another version of these, so that one environment cannot hold all; Absent where none does
fits_instead | text   | what takes its place where it has ended, in the release that accepts what is installed where one is known; Absent where nothing does
fits_build  | text    | the release of it that was compiled for the torch that is there, as an installer takes it; Absent where none is known
pair_told   | mapping | what is installed and does not go with it, though no requirement says so -> in which versions it would
pair_why    | text    | what happens with these
pair_other  | text    | the releases of it that go with all of these, as an installer takes them; Absent where none is known
pair_warned | boolean | true where it looks for these by itself, and only warns; Absent where more happens
"""
