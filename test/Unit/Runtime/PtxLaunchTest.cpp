// Descriptors of abi "ptx" -> launch parameters: sizes, tensor maps over strided views, scalars, errors.
#include "fa/Runtime/PtxLaunch.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;

namespace {

/// q is a BSHD view [B, H, S, D] = [2, 4, 100, 64] of a [2, 100, 4, 64] buffer.
Bindings bindings() {
  Bindings b;
  b.tensors["q"] = {DType::BF16, 0x10000, 0, {2, 4, 100, 64}, {25600, 64, 256, 1}};
  b.tensors["lse"] = {DType::F32, 0x20000, 4, {2, 4, 100}, {400, 100, 1}};
  b.scalars["scale"] = 0.125;
  b.scalars["count"] = 7;
  return b;
}

KernelArgument argument(KernelArgument::Kind kind, const char *tensor, int dim = 0) {
  KernelArgument result;
  result.kind = kind;
  result.tensor = tensor;
  result.dim = dim;
  return result;
}
KernelArgument scalar(const char *name, DType type) {
  KernelArgument result;
  result.kind = KernelArgument::Kind::Scalar;
  result.scalar = name;
  result.type = type;
  return result;
}

LaunchDescriptor descriptor() {
  LaunchDescriptor d;
  d.entry = "k";
  d.abi = "ptx";
  d.grid[0] = "ceildiv(Sq, 64) * q.dim1 * q.dim0";
  d.block[0] = 384;
  d.sharedBytes = "1024 * 64";
  d.symbols["Sq"] = "q.dim2";
  using Kind = KernelArgument::Kind;
  KernelArgument map = argument(Kind::TensorMap, "q");
  map.box = {64, 64, 1, 1};
  map.swizzle = 128;
  KernelArgument pointer = argument(Kind::Pointer, "lse");
  KernelArgument stride = argument(Kind::Stride, "q", 2), dim = argument(Kind::Dim, "q", 2);
  KernelArgument scale = scalar("scale", DType::F32), half = scalar("", DType::I32);
  half.expression = "Sq / 2";
  KernelArgument scratch = argument(Kind::Scratch, "");
  d.arguments = {map, pointer, stride, dim, scale, half, scratch};
  d.scratchBytes = "Sq * 4";
  return d;
}

template <typename T> T valueOf(const PtxArgument &argument) {
  EXPECT_EQ(argument.bytes.size(), sizeof(T));
  T value{};
  std::memcpy(&value, argument.bytes.data(), std::min(sizeof value, argument.bytes.size()));
  return value;
}

TEST(PtxLaunch, WorksOutEverything) {
  auto launch = preparePtxLaunch(descriptor(), bindings());
  ASSERT_TRUE(launch) << launch.message();
  EXPECT_EQ(launch->grid[0], 16u);
  EXPECT_EQ(launch->block[0], 384u);
  EXPECT_EQ(launch->sharedBytes, 65536u);
  EXPECT_EQ(launch->scratchBytes, 400u);
  ASSERT_EQ(launch->arguments.size(), 7u);
  const TensorMapSpec &map = *launch->arguments[0].tensorMap;
  EXPECT_EQ(map.type, 9);
  EXPECT_EQ(map.rank, 4u);
  EXPECT_EQ(map.swizzle, 3);
  const uint64_t sizes[] = {64, 100, 4, 2}, strides[] = {512, 128, 51200};
  EXPECT_TRUE(std::equal(sizes, sizes + 4, map.sizes));
  EXPECT_TRUE(std::equal(strides, strides + 3, map.strides));
  EXPECT_EQ(valueOf<uint64_t>(launch->arguments[1]), 0x20010u);
  EXPECT_EQ(valueOf<int64_t>(launch->arguments[2]), 256);
  EXPECT_EQ(valueOf<int64_t>(launch->arguments[3]), 100);
  EXPECT_EQ(valueOf<float>(launch->arguments[4]), 0.125f);
  EXPECT_EQ(valueOf<int32_t>(launch->arguments[5]), 50);
  EXPECT_TRUE(launch->arguments[6].isScratch);
}

TEST(PtxLaunch, EmptyGridAndEmptyTensor) {
  Bindings b = bindings();
  b.tensors["q"].sizes[2] = 0;
  auto launch = preparePtxLaunch(descriptor(), b);
  ASSERT_TRUE(launch) << launch.message();
  EXPECT_TRUE(launch->empty());
  EXPECT_EQ(launch->arguments[0].tensorMap->sizes[1], 1u);
}

TEST(PtxLaunch, OrderAndSizeOneDimensions) {
  LaunchDescriptor d = descriptor();
  d.arguments[0].order = {3, 1, 2, 0};
  Bindings b = bindings();
  b.tensors["q"].sizes[0] = 1;
  b.tensors["q"].strides[0] = 3; // never used
  auto launch = preparePtxLaunch(d, b);
  ASSERT_TRUE(launch) << launch.message();
  EXPECT_EQ(launch->arguments[0].tensorMap->strides[0], 128u);
  EXPECT_EQ(launch->arguments[0].tensorMap->strides[1], 512u);
  EXPECT_EQ(launch->arguments[0].tensorMap->strides[2], 16u);
}

void expectError(LaunchDescriptor d, Bindings b, const char *words) {
  auto launch = preparePtxLaunch(d, b);
  ASSERT_FALSE(launch);
  EXPECT_NE(launch.message().find(words), std::string::npos) << launch.message();
}

TEST(PtxLaunch, ErrorsNameTheArgument) {
  auto change = [](auto edit, const char *words) {
    LaunchDescriptor d = descriptor();
    Bindings b = bindings();
    edit(d, b);
    expectError(d, b, words);
  };
  change([](auto &d, auto &) { d.abi = "so"; }, "expected abi \"ptx\"");
  change([](auto &, auto &b) { b.tensors.erase("lse"); }, "argument 1: expected a tensor 'lse'");
  change([](auto &, auto &b) { b.scalars.erase("scale"); }, "argument 4: expected a scalar 'scale'");
  change([](auto &, auto &b) { b.tensors["q"].offset = 3; }, "multiple of 16 bytes");
  change([](auto &, auto &b) { b.tensors["q"].strides[3] = 2; }, "expected stride 1 in dimension 3 of 'q'");
  change([](auto &, auto &b) { b.tensors["q"].strides[2] = 252; }, "stride of dimension 2 of 'q'");
  change([](auto &d, auto &) { d.arguments[0].swizzle = 96; }, "expected swizzle 0, 32, 64 or 128");
  change([](auto &d, auto &) { d.arguments[0].box = {64, 64}; }, "argument 0");
  change([](auto &d, auto &) { d.arguments[3].dim = 4; }, "expected dimension 4 of 'q', but it has 4");
  change([](auto &d, auto &) { d.grid[0] = "0 - 1"; }, "grid size");
  change([](auto &d, auto &) { d.grid[1] = "65536"; }, "0..65535");
  change([](auto &d, auto &) { d.arguments[5].expression = "nothing"; }, "argument 5");
  change([](auto &d, auto &) { d.guards = {{"q.stride2 % 512 == 0", "pad the rows"}}; }, "pad the rows");
  change(
      [](auto &d, auto &b) {
        d.arguments[4] = scalar("count", DType::I32);
        b.scalars["count"] = 1.5;
      },
      "to be an i32");
}

TEST(PtxLaunch, GridOfAPersistentKernelFollowsTheDevice) {
  LaunchDescriptor d = descriptor();
  d.grid[0] = "min(1000, multiprocessors)";
  EXPECT_EQ(preparePtxLaunch(d, bindings())->grid[0], 132u);
  EXPECT_EQ(preparePtxLaunch(d, bindings(), 114)->grid[0], 114u);
  // Whoever gives the name a meaning is heard first.
  Bindings b = bindings();
  b.scalars["multiprocessors"] = 7;
  EXPECT_EQ(preparePtxLaunch(d, b, 114)->grid[0], 7u);
}

} // namespace

namespace {
/// lse of one batch, and every other row of that.
LaunchDescriptor withViews() {
  LaunchDescriptor d;
  d.entry = "k";
  d.abi = "ptx";
  d.views = {{"batch",
              "lse",
              {"1", "lse.dim1", "lse.dim2"},
              {"lse.stride0", "lse.stride1", "lse.stride2"},
              "count * lse.stride0"},
             {"rows", "batch", {"batch.dim1", "ceildiv(batch.dim2, 2)"}, {"batch.stride1", "2 * batch.stride2"}, "0"}};
  d.grid[0] = "rows.dim0";
  d.arguments = {argument(KernelArgument::Kind::Pointer, "rows"), argument(KernelArgument::Kind::Stride, "rows", 1),
                 argument(KernelArgument::Kind::Dim, "rows", 1)};
  d.guards = {{"rows.stride1 == 2", "none"}};
  return d;
}
} // namespace

TEST(PtxLaunch, ViewsAreTensorsOfTheLaunch) {
  Bindings given = bindings();
  given.scalars["count"] = 1;
  Expected<PtxLaunch> launch = preparePtxLaunch(withViews(), given);
  ASSERT_TRUE(launch) << launch.message();
  EXPECT_EQ(launch->grid[0], 4u);
  EXPECT_EQ(valueOf<uint64_t>(launch->arguments[0]), 0x20000u + 4 * (4 + 400));
  EXPECT_EQ(valueOf<int64_t>(launch->arguments[1]), 2);
  EXPECT_EQ(valueOf<int64_t>(launch->arguments[2]), 50);
}

TEST(PtxLaunch, ViewsStayInsideTheirTensor) {
  const auto errorOf = [](const LaunchDescriptor &descriptor, double count) {
    Bindings given = bindings();
    given.scalars["count"] = count;
    Expected<PtxLaunch> launch = preparePtxLaunch(descriptor, given);
    return launch ? "" : launch.message();
  };
  const std::string outside =
      "kernel 'k', view 'batch' of 'lse': expected a view inside the tensor, but it reaches outside; "
      "check its offsets and sizes";
  EXPECT_EQ(errorOf(withViews(), 0), "");
  EXPECT_EQ(errorOf(withViews(), 2), outside);
  EXPECT_EQ(errorOf(withViews(), -1), outside);
  LaunchDescriptor empty = withViews();
  empty.views[0].sizes[0] = "0"; // nothing is read, wherever it begins
  empty.views.pop_back();
  empty.grid[0] = "batch.dim0";
  empty.guards.clear();
  empty.arguments.clear();
  EXPECT_EQ(errorOf(empty, 7), "");
  LaunchDescriptor missing = withViews();
  missing.views[1].of = "absent";
  EXPECT_EQ(errorOf(missing, 0),
            "kernel 'k', view 'rows' of 'absent': expected a tensor 'absent', but it was not given");
  LaunchDescriptor negative = withViews();
  negative.views[0].sizes[0] = "0 - 1";
  EXPECT_NE(errorOf(negative, 0).find("expected sizes of 0 or more"), std::string::npos);
}

TEST(PtxLaunch, ViewsTravelThroughJson) {
  const Expected<LaunchDescriptor> read = LaunchDescriptor::fromJson(withViews().toJson());
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->toJson(), withViews().toJson());
  std::string json = withViews().toJson();
  json.replace(json.find("\"of\""), 4, "\"at\"");
  EXPECT_EQ(LaunchDescriptor::fromJson(json).message(), "expected key 'views[0].of', but it is missing");
}
