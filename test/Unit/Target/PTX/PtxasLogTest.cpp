// What ptxas says is read, not dropped.
#include "fa/Target/PTX/EmitPTX.h"
#include <gtest/gtest.h>

using namespace mlir::fa;

TEST(PtxasLog, CleanKernel) {
  auto kernels = parsePtxasLog("ptxas info    : 0 bytes gmem\n"
                               "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                               "ptxas info    : Function properties for k\n"
                               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                               "ptxas info    : Used 168 registers, used 16 barriers\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].entry, "k");
  EXPECT_EQ(kernels[0].registers, 168);
  EXPECT_TRUE(kernels[0].isClean());
}

TEST(PtxasLog, SpillsAndSerialisedProducts) {
  auto kernels = parsePtxasLog("ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are "
                               "serialized due to ... in the function 'first'\n"
                               "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
                               "    48 bytes stack frame, 44 bytes spill stores, 36 bytes spill loads\n"
                               "ptxas info    : Used 168 registers\n"
                               "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
                               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                               "ptxas info    : Used 90 registers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].stackBytes, 48);
  EXPECT_EQ(kernels[0].spillStores, 44);
  EXPECT_EQ(kernels[0].spillLoads, 36);
  ASSERT_EQ(kernels[0].warnings.size(), 1u);
  EXPECT_FALSE(kernels[0].isClean());
  EXPECT_EQ(kernels[1].registers, 90);
  EXPECT_TRUE(kernels[1].isClean());
}
