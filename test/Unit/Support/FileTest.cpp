#include "fa/Support/File.h"
#include "TemporaryFolder.h"
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace fa;

namespace {

TEST(File, RoundTripAndReplace) {
  test::TemporaryFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(writeFileAtomically(path, {"one", std::string_view("\0two", 4)}));
  EXPECT_EQ(*readFile(path), std::string("one\0two", 7));
  ASSERT_TRUE(writeFileAtomically(path, {}));
  EXPECT_EQ(*readFile(path), "");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(File, FailureLeavesNothingBehind) {
  test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("taken/inside"));
  const Status status = writeFileAtomically(folder.path("taken"), {"data"});
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("taken"), std::string::npos);
  EXPECT_EQ(folder.files(), 1u) << "the temporary file was not removed";
  const Status missing = writeFileAtomically(folder.path("no/such/folder"), {"data"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.message().find("No such file"), std::string::npos);
}

TEST(File, ReadErrorsNameTheFile) {
  test::TemporaryFolder folder;
  const Expected<std::string> missing = readFile(folder.path("absent"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.message().find("absent"), std::string::npos);
  const Expected<std::string> directory = readFile(folder.path(""));
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.message().find("directory"), std::string::npos);
}

TEST(File, ConcurrentWritersLeaveOneWholeFile) {
  test::TemporaryFolder folder;
  const std::string path = folder.path("shared");
  std::vector<std::thread> writers;
  for (char letter = 'a'; letter < 'e'; ++letter)
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(writeFileAtomically(path, {std::string(10000, letter)}));
    });
  for (std::thread &writer : writers)
    writer.join();
  const std::string contents = *readFile(path);
  EXPECT_EQ(contents, std::string(10000, contents[0]));
  EXPECT_EQ(folder.files(), 1u);
}

} // namespace
