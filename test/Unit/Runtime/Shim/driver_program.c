/* A CUDA driver API program in C as users write them: context, module from PTX, memory, launches in both forms, tensor
 * maps, events, and the errors a program must be able to see. Own declarations, because CI has no cuda.h; the versioned
 * names are the ones cuda.h maps to. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct {
  _Alignas(128) uint64_t opaque[16];
} CUtensorMap;
typedef struct {
  unsigned id, padding;
  union {
    char bytes[64];
    unsigned cluster[3];
  } value;
} CUlaunchAttribute;
typedef struct {
  unsigned grid[3], block[3], sharedMemBytes;
  CUstream stream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

CUresult cuInit(unsigned);
CUresult cuDriverGetVersion(int *);
CUresult cuDeviceGetCount(int *);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDeviceGetName(char *, int, CUdevice);
CUresult cuDeviceGetAttribute(int *, int, CUdevice);
CUresult cuDeviceTotalMem_v2(size_t *, CUdevice);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetErrorString(CUresult, const char **);
CUresult cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxGetCurrent(CUcontext *);
CUresult cuCtxPopCurrent_v2(CUcontext *);
CUresult cuCtxPushCurrent_v2(CUcontext);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **);
CUresult cuModuleUnload(CUmodule);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuFuncGetAttribute(int *, int, CUfunction);
CUresult cuFuncGetParamInfo(CUfunction, size_t, size_t *, size_t *);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void **, void **);
CUresult cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuEventCreate(CUevent *, unsigned);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventQuery(CUevent);
CUresult cuEventElapsedTime_v2(float *, CUevent, CUevent);
CUresult cuTensorMapEncodeTiled(CUtensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                const uint32_t *, const uint32_t *, int, int, int, int);
CUresult cuTensorMapReplaceAddress(CUtensorMap *, void *);

static void expect(CUresult got, CUresult want, const char *what, int line) {
  const char *name = "?", *wanted = "?";
  if (got == want)
    return;
  cuGetErrorName(got, &name);
  cuGetErrorName(want, &wanted);
  printf("line %d: %s: expected %s, but got %s\n", line, what, wanted, name);
  exit(1);
}
#define CHECK(call) expect(call, 0, #call, __LINE__)
#define EXPECT(call, code) expect(call, code, #call, __LINE__)

static void require(int holds, const char *what, int line) {
  if (!holds) {
    printf("line %d: expected %s\n", line, what);
    exit(1);
  }
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

static char *readText(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  REQUIRE(file != NULL);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = calloc((size_t)size + 1, 1);
  REQUIRE(fread(text, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  return text;
}

static void device(void) {
  int count = 0, version = 0, value = 0;
  size_t total = 0;
  char name[64];
  CUdevice dev;
  EXPECT(cuDeviceGetCount(&count), 3); /* before cuInit */
  CHECK(cuInit(0));
  CHECK(cuDriverGetVersion(&version));
  CHECK(cuDeviceGetCount(&count));
  REQUIRE(count == 1 && version >= 12000);
  CHECK(cuDeviceGet(&dev, 0));
  EXPECT(cuDeviceGet(&dev, 1), 101);
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  CHECK(cuDeviceTotalMem_v2(&total, 0));
  CHECK(cuDeviceGetAttribute(&value, 75, 0));
  REQUIRE(value == 9);
  CHECK(cuDeviceGetAttribute(&value, 97, 0));
  REQUIRE(value == 232448);
  EXPECT(cuDeviceGetAttribute(&value, 100000, 0), 1);
  void *address = NULL;
  int status = -1;
  CHECK(cuGetProcAddress_v2("cuMemAlloc", &address, 13000, 0, &status));
  REQUIRE(address == (void *)cuMemAlloc_v2 && status == 0);
  EXPECT(cuGetProcAddress_v2("cuNothing", &address, 13000, 0, &status), 500);
  CUdeviceptr memory;
  EXPECT(cuMemAlloc_v2(&memory, 16), 201); /* no context */
  printf("device: %s\n", name);
}

static void memory(void) {
  CUdeviceptr a, b;
  unsigned char bytes[64], back[64];
  size_t freeBefore, freeAfter, total;
  for (int i = 0; i < 64; ++i)
    bytes[i] = (unsigned char)(i * 7);
  CHECK(cuMemGetInfo_v2(&freeBefore, &total));
  CHECK(cuMemAlloc_v2(&a, 64));
  CHECK(cuMemAllocAsync(&b, 64, NULL));
  CHECK(cuMemGetInfo_v2(&freeAfter, &total));
  REQUIRE(freeAfter < freeBefore && a % 256 == 0);
  CHECK(cuMemcpyHtoD_v2(a, bytes, 64));
  CHECK(cuMemcpyDtoD_v2(b, a, 64));
  CHECK(cuMemsetD8_v2(b, 0xab, 3));
  CHECK(cuMemsetD16_v2(b + 4, 0x1234, 2));
  CHECK(cuMemsetD32_v2(b + 8, 0xdeadbeef, 1));
  EXPECT(cuMemsetD32_v2(b + 9, 1, 1), 1);
  CHECK(cuMemcpyDtoHAsync_v2(back, b, 64, NULL));
  REQUIRE(back[0] == 0xab && back[2] == 0xab && back[3] == bytes[3] && back[4] == 0x34 && back[7] == 0x12 &&
          back[8] == 0xef && back[11] == 0xde && back[12] == bytes[12]);
  REQUIRE(cuMemcpyDtoH_v2(back, a + 32, 64) != 0); /* past the end */
  REQUIRE(cuMemcpyHtoD_v2(16, bytes, 4) != 0);
  EXPECT(cuMemAlloc_v2(&b, 0), 1);
  EXPECT(cuMemAlloc_v2(&b, (size_t)1 << 45), 2);
  void *host;
  CHECK(cuMemHostAlloc(&host, 100, 0));
  memset(host, 1, 100);
  CHECK(cuMemFreeHost(host));
  EXPECT(cuMemFreeHost(host), 1);
  CHECK(cuMemFree_v2(a));
  REQUIRE(cuMemFree_v2(a) != 0);
  printf("memory: ok\n");
}

static void vectorAdd(const char *folder) {
  enum { count = 1000 };
  char *ptx = readText(folder, "VectorAdd.ptx");
  CUmodule module;
  CUfunction function;
  CHECK(cuModuleLoadData(&module, ptx));
  free(ptx);
  CHECK(cuModuleGetFunction(&function, module, "vector_add"));
  EXPECT(cuModuleGetFunction(&function, module, "nothing"), 500);
  size_t offset, size;
  CHECK(cuFuncGetParamInfo(function, 3, &offset, &size));
  REQUIRE(offset == 24 && size == 4);
  EXPECT(cuFuncGetParamInfo(function, 5, &offset, &size), 1);

  float a[count], b[count], c[count], scale = 0.5f, milliseconds = -1;
  int n = count, blocks = 0;
  for (int i = 0; i < count; ++i) {
    a[i] = (float)i;
    b[i] = (float)(3 * i);
  }
  CUstream stream;
  CUevent start, stop;
  CUdeviceptr da, db, dc;
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuEventCreate(&start, 0));
  CHECK(cuEventCreate(&stop, 0));
  CHECK(cuMemAlloc_v2(&da, sizeof a));
  CHECK(cuMemAlloc_v2(&db, sizeof b));
  CHECK(cuMemAlloc_v2(&dc, sizeof c));
  CHECK(cuMemcpyHtoDAsync_v2(da, a, sizeof a, stream));
  CHECK(cuMemcpyHtoDAsync_v2(db, b, sizeof b, stream));
  void *parameters[] = {&da, &db, &dc, &scale, &n};
  CHECK(cuEventRecord(start, stream));
  CHECK(cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
  CHECK(cuEventRecord(stop, stream));
  CHECK(cuStreamWaitEvent(stream, stop, 0));
  CHECK(cuEventQuery(stop));
  CHECK(cuEventSynchronize(stop));
  CHECK(cuEventElapsedTime_v2(&milliseconds, start, stop));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH_v2(c, dc, sizeof c));
  for (int i = 0; i < count; ++i)
    REQUIRE(c[i] == a[i] + scale * b[i]);
  REQUIRE(milliseconds >= 0);
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0));
  REQUIRE(blocks >= 1);

  /* The same launch with all parameters in one buffer. */
  struct {
    CUdeviceptr a, b, c;
    float scale;
    int n;
  } packed = {da, db, dc, 2.0f, count};
  size_t packedSize = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &packedSize, (void *)0};
  CHECK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
  CHECK(cuMemcpyDtoH_v2(c, dc, sizeof c));
  REQUIRE(c[999] == 999 + 2 * 2997);

  EXPECT(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), 1);
  EXPECT(cuLaunchKernel(function, 8, 1, 1, 2048, 1, 1, 0, NULL, parameters, NULL), 1);
  EXPECT(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 49 * 1024, NULL, parameters, NULL), 1);
  EXPECT(cuLaunchKernel((CUfunction)parameters, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL), 400);

  /* A module variable that the second kernel of the module changes. */
  CUdeviceptr counter;
  int value = 0;
  CHECK(cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
  REQUIRE(size == 4);
  CHECK(cuModuleGetFunction(&function, module, "block_sum"));
  void *sumParameters[] = {&da, &dc, &n};
  CHECK(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, sumParameters, NULL));
  CHECK(cuMemcpyDtoH_v2(&value, counter, 4));
  REQUIRE(value == 3 + 4);
  CHECK(cuMemcpyDtoH_v2(c, dc, 4 * sizeof *c));
  float sum = 0;
  for (int i = 0; i < 256; ++i)
    sum += a[i] * (float)(1 << i % 4);
  REQUIRE(c[0] == sum);
  CHECK(cuStreamDestroy_v2(stream));
  EXPECT(cuStreamSynchronize(stream), 400);
  CHECK(cuEventDestroy_v2(start));
  CHECK(cuEventDestroy_v2(stop));
  CHECK(cuModuleUnload(module));
  EXPECT(cuModuleUnload(module), 400);
  printf("vector_add and block_sum: %.1f, %.1f\n", c[1], sum);
}

static uint16_t bf16(int value) {
  float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void encode(CUtensorMap *map, CUdeviceptr base, uint64_t rows) {
  uint64_t sizes[] = {64, rows}, strides[] = {128};
  uint32_t box[] = {64, 64}, ones[] = {1, 1};
  CHECK(cuTensorMapEncodeTiled(map, 9, 2, (void *)base, sizes, strides, box, ones, 0, 3, 2, 0));
  box[0] = 128;
  EXPECT(cuTensorMapEncodeTiled(map + 1, 9, 2, (void *)base, sizes, strides, box, ones, 0, 3, 2, 0), 1);
}

/* wgmma, TMA and mbarriers: O = (Q K^T) V with small integers, so that every result is exact before its rounding. */
static void twoProducts(const char *folder) {
  enum { rows = 256, keys = 192, depth = 64 };
  static int q[rows][depth], k[keys][depth], v[keys][depth];
  static uint16_t bits[rows][depth], out[rows][depth];
  CUdeviceptr dq, dk, dv, o;
  CUtensorMap maps[8];
  unsigned random = 1;
  struct {
    CUdeviceptr *address;
    int (*values)[depth];
    int count;
  } inputs[] = {{&dq, q, rows}, {&dk, k, keys}, {&dv, v, keys}};
  for (int t = 0; t < 3; ++t) {
    for (int i = 0; i < inputs[t].count; ++i)
      for (int j = 0; j < depth; ++j) {
        random = random * 1664525u + 1013904223u;
        inputs[t].values[i][j] = (int)(random >> 24) % 3 - 1;
        bits[i][j] = bf16(inputs[t].values[i][j]);
      }
    CHECK(cuMemAlloc_v2(inputs[t].address, (size_t)inputs[t].count * depth * 2));
    CHECK(cuMemcpyHtoD_v2(*inputs[t].address, bits, (size_t)inputs[t].count * depth * 2));
    encode(&maps[2 * t], *inputs[t].address, (uint64_t)inputs[t].count);
  }
  CHECK(cuMemAlloc_v2(&o, sizeof out));
  encode(&maps[6], dq, rows);
  CHECK(cuTensorMapReplaceAddress(&maps[6], (void *)o));

  CUmodule module;
  CUfunction function;
  char *ptx = readText(folder, "TwoProducts.ptx"), log[256] = "";
  int options[] = {5, 6};
  void *values[] = {log, (void *)sizeof log};
  EXPECT(cuModuleLoadDataEx(&module, ".version 8.0\nnonsense", 2, options, values), 218);
  REQUIRE(strlen(log) > 0);
  EXPECT(cuModuleLoadData(&module, "\x7f"
                                   "ELF"),
         209);
  CHECK(cuModuleLoadDataEx(&module, ptx, 2, options, values));
  free(ptx);
  CHECK(cuModuleGetFunction(&function, module, "two_products"));
  int shared = 6 * 8192, tiles = keys / 64, value = 0;
  EXPECT(cuFuncSetAttribute(function, 8, 300000), 1);
  CHECK(cuFuncSetAttribute(function, 8, 200000));
  CHECK(cuFuncGetAttribute(&value, 8, function));
  REQUIRE(value == 200000);
  CUlaunchAttribute cluster = {4, 0, {{0}}};
  cluster.value.cluster[0] = cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
  CUlaunchConfig config = {{rows / 128, 1, 1}, {384, 1, 1}, (unsigned)shared, NULL, &cluster, 1};
  void *parameters[] = {&maps[0], &maps[2], &maps[4], &maps[6], &tiles};
  CHECK(cuLaunchKernelEx(&config, function, parameters, NULL));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH_v2(out, o, sizeof out));
  for (int i = 0; i < rows; ++i)
    for (int d = 0; d < depth; ++d) {
      int sum = 0;
      for (int j = 0; j < keys; ++j) {
        int s = 0;
        for (int c = 0; c < depth; ++c)
          s += q[i][c] * k[j][c];
        sum += s * v[j][d];
      }
      REQUIRE(out[i][d] == bf16(sum));
    }
  printf("two_products: exact\n");
}

/* After an illegal access every call in this context fails, and a new context works. */
static void stickyError(const char *folder) {
  char *ptx = readText(folder, "VectorAdd.ptx");
  CUmodule module;
  CUfunction function;
  CUdeviceptr memory, wild = 0x10000;
  float scale = 1;
  int n = 32;
  CHECK(cuModuleLoadData(&module, ptx));
  free(ptx);
  CHECK(cuModuleGetFunction(&function, module, "vector_add"));
  CHECK(cuMemAlloc_v2(&memory, 128));
  CHECK(cuMemsetD32_v2(memory, 0, 32));
  void *parameters[] = {&memory, &memory, &wild, &scale, &n};
  CUresult launched = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
  REQUIRE(launched == 0 || launched == 700);
  EXPECT(cuCtxSynchronize(), 700);
  EXPECT(cuMemAlloc_v2(&memory, 16), 700);
  const char *meaning = NULL;
  CHECK(cuGetErrorString(700, &meaning));
  printf("sticky: %s\n", meaning);
}

int main(int argc, char **argv) {
  CUcontext context, other, current;
  REQUIRE(argc == 2);
  device();
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  memory();
  vectorAdd(argv[1]);
  twoProducts(argv[1]);
  stickyError(argv[1]);
  CHECK(cuCtxCreate_v2(&other, 0, 0));
  CHECK(cuCtxGetCurrent(&current));
  REQUIRE(current == other);
  vectorAdd(argv[1]);
  CHECK(cuCtxPopCurrent_v2(&current));
  CHECK(cuCtxPushCurrent_v2(current));
  CHECK(cuCtxDestroy_v2(other));
  CHECK(cuCtxDestroy_v2(context));
  EXPECT(cuCtxDestroy_v2(context), 201);
  printf("done\n");
  return 0;
}
