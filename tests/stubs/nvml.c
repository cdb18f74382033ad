/* A driver that is played: libnvidia-ml.so.1 with GPUs of the tests' choosing.
 *
 * Environment:
 *   NVML_STUB_GPUS   one GPU per ';': name|major|minor|memory in MiB|mig (off, on, none)|instances
 *   NVML_STUB_FAIL   calls that fail, per ',': call=code, or call:index=code for one GPU
 *   NVML_STUB_HANG   a call that never returns; dlopen hangs while the library is loaded
 *   NVML_STUB_CRASH  a call that kills the process
 *   NVML_STUB_NOISE  print to standard output and error while loading
 *   NVML_STUB_DRIVER, NVML_STUB_CUDA, NVML_STUB_COUNT  other answers than 570.86.15, 12080 and
 *                    the number of GPUs
 *
 * Compile with -DWITHOUT_nvmlDeviceGetName (and so on) for a library that lacks a function.
 * GPU handles are 1 + index; handles of MIG instances are 1 + index + 1000 x (1 + slot).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { char name[20000]; int major, minor, instances; unsigned long long mib; char mig[8]; } gpu_t;

enum { NO_ERROR = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static long index_of(void *handle) { return ((long)handle % 1000) - 1; }
__attribute__((unused)) static long slot_of(void *handle) { return (long)handle / 1000 - 1; }

static int is_named(const char *variable, const char *call) {
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, call) == 0;
}

/* Hang, crash or return the error code that the tests ask of this call for this GPU (-1: no GPU). */
static int misbehave(const char *call, long index) {
    char copy[4096], wanted[128], *entry, *rest;
    const char *failing = getenv("NVML_STUB_FAIL");
    if (is_named("NVML_STUB_HANG", call)) for (;;) sleep(1000);
    if (is_named("NVML_STUB_CRASH", call)) raise(SIGSEGV);
    if (failing == NULL) return NO_ERROR;
    snprintf(copy, sizeof copy, "%s", failing);
    snprintf(wanted, sizeof wanted, "%s:%ld", call, index);
    for (entry = strtok_r(copy, ",", &rest); entry != NULL; entry = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(entry, '=');
        if (equals == NULL) continue;
        *equals = '\0';
        if (strcmp(entry, call) == 0 || strcmp(entry, wanted) == 0) return atoi(equals + 1);
    }
    return NO_ERROR;
}

/* Read the GPU of that number into *gpu; return how many there are. */
static int read_gpus(long wanted, gpu_t *gpu) {
    const char *text = getenv("NVML_STUB_GPUS");
    int count = 0;
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ";");
        if (count == wanted) {
            char *copy = strndup(text, length);
            memset(gpu, 0, sizeof *gpu);
            sscanf(copy, "%19999[^|]|%d|%d|%llu|%7[^|]|%d", gpu->name, &gpu->major, &gpu->minor,
                   &gpu->mib, gpu->mig, &gpu->instances);
            free(copy);
        }
        count++;
        text += length + (text[length] == ';');
    }
    return count;
}

/* Begin a function about one GPU: misbehave, check the handle, fill `gpu`. */
#define ABOUT_GPU(call, handle)                                        \
    static gpu_t gpu;                                                  \
    int code = misbehave(call, index_of(handle));                      \
    if (code != NO_ERROR) return code;                                 \
    if (read_gpus(index_of(handle), &gpu) <= index_of(handle)) return INVALID_ARGUMENT

static int give_text(const char *text, char *buffer, unsigned length) {
    if (strlen(text) >= length) return INSUFFICIENT_SIZE;
    strcpy(buffer, text);
    return NO_ERROR;
}

__attribute__((constructor)) static void load(void) {
    if (getenv("NVML_STUB_NOISE") != NULL) {
        fprintf(stderr, "noise of the driver, without a line end");
        printf("{\"noise\": true");
        fflush(stdout);
    }
    misbehave("dlopen", -1);
}

#ifndef WITHOUT_nvmlInitWithFlags
int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return misbehave("nvmlInitWithFlags", -1);
}
#endif

#ifndef WITHOUT_nvmlSystemGetDriverVersion
int nvmlSystemGetDriverVersion(char *buffer, unsigned length) {
    const char *version = getenv("NVML_STUB_DRIVER");
    int code = misbehave("nvmlSystemGetDriverVersion", -1);
    if (code != NO_ERROR) return code;
    return give_text(version != NULL ? version : "570.86.15", buffer, length);
}
#endif

#ifndef WITHOUT_nvmlSystemGetCudaDriverVersion_v2
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    const char *number = getenv("NVML_STUB_CUDA");
    int code = misbehave("nvmlSystemGetCudaDriverVersion_v2", -1);
    if (code == NO_ERROR) *version = number != NULL ? atoi(number) : 12080;
    return code;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetCount_v2
int nvmlDeviceGetCount_v2(unsigned *count) {
    const char *claimed = getenv("NVML_STUB_COUNT");
    int code = misbehave("nvmlDeviceGetCount_v2", -1);
    if (code == NO_ERROR) *count = claimed != NULL ? strtoul(claimed, NULL, 10) : read_gpus(-1, NULL);
    return code;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetHandleByIndex_v2
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    int code = misbehave("nvmlDeviceGetHandleByIndex_v2", index);
    if (code == NO_ERROR && (int)index >= read_gpus(-1, NULL)) code = INVALID_ARGUMENT;
    if (code == NO_ERROR) *handle = (void *)(1L + index);
    return code;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetName
int nvmlDeviceGetName(void *handle, char *buffer, unsigned length) {
    ABOUT_GPU("nvmlDeviceGetName", handle);
    /* A name that fills the buffer has no terminator, as a hostile library might do. */
    if (strlen(gpu.name) >= length) {
        memcpy(buffer, gpu.name, length);
        return NO_ERROR;
    }
    return give_text(gpu.name, buffer, length);
}
#endif

#ifndef WITHOUT_nvmlDeviceGetCudaComputeCapability
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    ABOUT_GPU("nvmlDeviceGetCudaComputeCapability", handle);
    *major = gpu.major;
    *minor = gpu.minor;
    return NO_ERROR;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetMemoryInfo
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    ABOUT_GPU("nvmlDeviceGetMemoryInfo", handle);
    memory->total = gpu.mib << 20;
    memory->free = memory->total;
    memory->used = 0;
    return NO_ERROR;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetMigMode
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    ABOUT_GPU("nvmlDeviceGetMigMode", handle);
    if (strcmp(gpu.mig, "none") == 0) return NOT_SUPPORTED;
    *current = *pending = strcmp(gpu.mig, "on") == 0;
    return NO_ERROR;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetMaxMigDeviceCount
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
    ABOUT_GPU("nvmlDeviceGetMaxMigDeviceCount", handle);
    *count = 7;
    return NO_ERROR;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetMigDeviceHandleByIndex
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned slot, void **instance) {
    ABOUT_GPU("nvmlDeviceGetMigDeviceHandleByIndex", handle);
    if ((int)slot >= gpu.instances) return NOT_FOUND;
    *instance = (void *)(1L + index_of(handle) + 1000L * (1 + slot));
    return NO_ERROR;
}
#endif

#ifndef WITHOUT_nvmlDeviceGetUUID
int nvmlDeviceGetUUID(void *handle, char *buffer, unsigned length) {
    char uuid[64];
    ABOUT_GPU("nvmlDeviceGetUUID", handle);
    if (slot_of(handle) >= 0)
        snprintf(uuid, sizeof uuid, "MIG-%08lx-0000-0000-0000-%012lx", index_of(handle), slot_of(handle));
    else
        snprintf(uuid, sizeof uuid, "GPU-%08lx-1111-2222-3333-444444444444", index_of(handle));
    return give_text(uuid, buffer, length);
}
#endif
