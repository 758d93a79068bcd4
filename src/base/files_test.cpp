#include "base/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace berth {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "berth-files-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string In(std::string_view name) const { return InFolder(folder_.string(), name); }
  static mode_t ModeOf(const std::string& path) {
    struct stat found{};
    ::stat(path.c_str(), &found);
    return found.st_mode & 07777;
  }

  fs::path folder_;
};

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

TEST_F(OutputFile, ANewFileHasThePermissionsOfTheUmask) {
  const mode_t umask_before = ::umask(0027);
  const bool written = WriteOutputFile(In("a"), "one").has_value();
  ::umask(umask_before);
  EXPECT_TRUE(written);
  EXPECT_EQ(ReadWholeFile(In("a")).value_or(""), "one");
  EXPECT_EQ(ModeOf(In("a")), 0640U);
}

TEST_F(OutputFile, AFileKeepsItsPermissions) {
  ASSERT_TRUE(WriteOutputFile(In("a"), "one and more"));
  for (const mode_t mode : {0600U, 0640U, 0666U}) {
    ASSERT_EQ(::chmod(In("a").c_str(), mode), 0);
    ASSERT_TRUE(WriteOutputFile(In("a"), "two"));
    EXPECT_EQ(ModeOf(In("a")), mode);
    EXPECT_EQ(ReadWholeFile(In("a")).value_or(""), "two");
  }
}

TEST_F(OutputFile, ALinkRemainsAndItsTargetIsWritten) {
  fs::create_symlink("target", In("link"));
  for (const std::string content : {"a new target", "an existing target"}) {
    ASSERT_TRUE(WriteOutputFile(In("link"), content));
    EXPECT_TRUE(fs::is_symlink(In("link")));
    EXPECT_EQ(ReadWholeFile(In("target")).value_or(""), content);
  }
}

TEST_F(OutputFile, APipeRemainsAndReceivesTheContent) {
  ASSERT_EQ(::mkfifo(In("pipe").c_str(), 0600), 0);
  const int reader = ::open(In("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteOutputFile(In("pipe"), "through"));
  char read[16] = {};
  EXPECT_EQ(::read(reader, read, sizeof read), 7);
  ::close(reader);
  EXPECT_STREQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(In("pipe")));
}

TEST_F(OutputFile, AFileInAFolderWithoutWritePermissionIsOverwritten) {
  ASSERT_TRUE(WriteOutputFile(In("a"), "one and more"));
  // Root may write to every folder, so a child without root's permissions writes the file.
  constexpr uid_t kOther = 65534;
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(folder_.c_str(), kOther, kOther), 0);
    ASSERT_EQ(::chown(In("a").c_str(), kOther, kOther), 0);
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0500), 0);
  struct stat before{}, after{};
  ASSERT_EQ(::stat(In("a").c_str(), &before), 0);
  const auto write = [&] {
    if (root && (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0))
      ::_exit(2);
    ::_exit(WriteOutputFile(In("a"), "two") ? 0 : 1);
  };
  EXPECT_EXIT(write(), testing::ExitedWithCode(0), "");
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(ReadWholeFile(In("a")).value_or(""), "two");
  ASSERT_EQ(::stat(In("a").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino) << "written in place";
}

TEST_F(OutputFile, ErrorsNameTheFileAndNoDraftRemains) {
  const auto missing = WriteOutputFile(In("none/a"), "one");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "open " + In("none/a") + ": no such file or directory");
  const auto folder = WriteOutputFile(folder_.string(), "one");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "open " + folder_.string() + ": is a directory");
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace berth
