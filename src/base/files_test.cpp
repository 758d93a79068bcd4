#include "base/files.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Files, TheFolderOfAPath) {
  EXPECT_EQ(FolderOf("a/b/c"), "a/b");
  EXPECT_EQ(FolderOf("/a/b"), "/a");
  EXPECT_EQ(FolderOf("/c"), "/");
  EXPECT_EQ(FolderOf("c"), "");
  EXPECT_EQ(FolderOf(""), "");
}

TEST(Files, APathInAFolder) {
  EXPECT_EQ(InFolder("a/b", "c"), "a/b/c");
  EXPECT_EQ(InFolder("/", "c"), "/c");
  EXPECT_EQ(InFolder("", "c"), "c");
  EXPECT_EQ(InFolder("a", "/c"), "/c");
  EXPECT_EQ(InFolder("a", ""), "");
}

}  // namespace
}  // namespace berth
