#include "scheduler/recording/segments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "testing/temporary_directory.hpp"

namespace berth::recording {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

std::vector<std::string> AllLines(SegmentReader& reader) {
  std::vector<std::string> lines;
  while (const auto line = reader.Next()) lines.emplace_back(*line);
  return lines;
}

// Lines that do not compress.
std::string Noise(std::size_t bytes) {
  std::string text;
  for (std::uint64_t state = 1; text.size() < bytes;
       state = state * 6364136223846793005 + 1442695040888963407)
    text += static_cast<char>('!' + (state >> 33) % 90);
  return text + "\n";
}

class SegmentsTest : public ::testing::Test {
 protected:
  std::unique_ptr<SegmentWriter> Writer() { return SegmentWriter::Create(directory_ / "run").value(); }
  SegmentReader Reader() const { return SegmentReader::Open(directory_ / "run").value(); }
  fs::path File(int number) const {
    return directory_ / "run" / ("00000" + std::to_string(number) + ".jsonl.zst");
  }
  // Three frames of one line in one file. Returns the offsets of the frames.
  std::vector<std::uint64_t> WriteThree() {
    std::vector<std::uint64_t> offsets;
    const auto writer = Writer();
    for (const std::string line : {"one\n", "two\n", "three\n"}) {
      offsets.push_back(writer->bytes());
      EXPECT_TRUE(writer->Append(line));
    }
    return offsets;
  }

  const berth::testing::TemporaryDirectory temporary_;
  const fs::path& directory_ = temporary_.path();
};

TEST_F(SegmentsTest, LinesAreReadAsTheyWereWritten) {
  const auto writer = Writer();
  EXPECT_TRUE(writer->Append("a\n\nb\n"));
  EXPECT_TRUE(writer->Append("c\n"));
  SegmentReader reader = Reader();
  EXPECT_THAT(AllLines(reader), ElementsAre("a", "", "b", "c"));
  EXPECT_FALSE(reader.damage());
  EXPECT_TRUE(reader.from_start());
  EXPECT_FALSE(reader.Next()) << "the end is final";
}

TEST_F(SegmentsTest, OnlyTheOwnerCanReadAFile) {
  const auto writer = Writer();
  EXPECT_EQ(fs::status(File(1)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SegmentsTest, AFullFileIsFollowedByTheNext) {
  const auto writer = Writer();
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(writer->Append(std::to_string(i) + Noise(2000)));
    if (writer->last_file_bytes() >= 3000) writer->EndFile();
  }
  EXPECT_TRUE(fs::exists(File(3)));
  SegmentReader reader = Reader();
  EXPECT_THAT(AllLines(reader), SizeIs(6));
}

TEST_F(SegmentsTest, TheOldestFilesAreRemovedAboveTheLimit) {
  const auto writer = Writer();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(writer->Append(std::to_string(i) + Noise(2000)));
    if (writer->last_file_bytes() >= 3000) writer->EndFile();
    writer->RemoveOldest(10'000);
    EXPECT_THAT(writer->bytes(), Le(10'000U));
  }
  EXPECT_GT(writer->removed(), 0U);
  EXPECT_FALSE(fs::exists(File(1)));
  SegmentReader reader = Reader();
  EXPECT_FALSE(reader.from_start());
  const std::vector<std::string> lines = AllLines(reader);
  EXPECT_THAT(lines.back(), ::testing::StartsWith("19"));
  EXPECT_FALSE(reader.damage());
}

TEST_F(SegmentsTest, ADirectoryWithARecordingIsNotWrittenTo) {
  WriteThree();
  const auto second = SegmentWriter::Create(directory_ / "run");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("contains a recording: "));
}

TEST_F(SegmentsTest, AnEarlierRecordingIsSetAside) {
  const fs::path run = directory_ / "run";
  ASSERT_TRUE(SetAside(run)) << "there is no directory yet";
  const auto files = [](const fs::path& directory) {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(directory)) names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  };
  for (const char* text : {"first\n", "second\n"}) {
    ASSERT_TRUE(SetAside(run));
    const auto writer = SegmentWriter::Create(run);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->Append(text));
    (*writer)->EndFile();
    ASSERT_TRUE((*writer)->Append(text));
  }
  // A failed start leaves a file without data, which does not replace the earlier recording.
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(SetAside(run));
    EXPECT_THAT(files(run), ::testing::ElementsAre("previous"));
    EXPECT_THAT(files(run / "previous"), ::testing::ElementsAre("000001.jsonl.zst", "000002.jsonl.zst"));
    ASSERT_TRUE(SegmentWriter::Create(run));
  }
  auto reader = SegmentReader::Open(run / "previous");
  ASSERT_TRUE(reader);
  EXPECT_THAT(AllLines(*reader), ::testing::ElementsAre("second", "second"));
}

TEST_F(SegmentsTest, ADirectoryThatCannotBeCreatedIsAnError) {
  std::ofstream(directory_ / "file") << "x";
  const auto writer = SegmentWriter::Create(directory_ / "file" / "run");
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("file/run: Not a directory"));
}

TEST_F(SegmentsTest, AnEmptyOrMissingDirectoryIsAnError) {
  const auto empty = SegmentReader::Open(directory_);
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("no recording: expected files such as 000001.jsonl.zst"));
  const auto missing = SegmentReader::Open(directory_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none: No such file or directory"));
}

TEST_F(SegmentsTest, OtherFilesAreIgnored) {
  WriteThree();
  for (const char* name : {"notes.txt", "1.jsonl.zst", "x00001.jsonl.zst", ".jsonl.zst"})
    std::ofstream(directory_ / "run" / name) << "x";
  SegmentReader reader = Reader();
  EXPECT_THAT(AllLines(reader), ElementsAre("one", "two", "three"));
  EXPECT_FALSE(reader.damage());
}

TEST_F(SegmentsTest, EverythingBeforeDamageIsUsed) {
  const struct {
    const char* what;
    std::function<void(std::string&, const std::vector<std::uint64_t>&)> damage;
    std::vector<std::string> left;
    std::size_t frame;  // the damaged one
  } cases[] = {
      {"the end is cut off", [](std::string& file, const auto&) { file.pop_back(); }, {"one", "two"}, 2},
      {"a byte of the content differs",
       [](std::string& file, const auto& at) { file[at[2] - 5] ^= 1; },
       {"one"},
       1},
      {"a frame begins with other bytes",
       [](std::string& file, const auto& at) { file[at[1]] ^= 1; },
       {"one"},
       1},
      {"the file begins with other bytes", [](std::string& file, const auto&) { file[0] ^= 1; }, {}, 0},
      {"text follows", [](std::string& file, const auto&) { file += "text"; }, {"one", "two", "three"}, 3},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    fs::remove_all(directory_ / "run");
    auto offsets = WriteThree();
    std::string file;
    {
      std::ifstream in(File(1), std::ios::binary);
      file.assign(std::istreambuf_iterator<char>(in), {});
    }
    offsets.push_back(file.size());
    c.damage(file, offsets);
    std::ofstream(File(1), std::ios::binary | std::ios::trunc) << file;
    SegmentReader reader = Reader();
    EXPECT_EQ(AllLines(reader), c.left);
    ASSERT_TRUE(reader.damage());
    EXPECT_EQ(reader.damage()->file, File(1).string());
    EXPECT_EQ(reader.damage()->offset, offsets[c.frame]);
    EXPECT_THAT(reader.damage()->reason, ::testing::Not(IsEmpty()));
  }
}

TEST_F(SegmentsTest, AMissingFileInTheMiddleIsDamage) {
  {
    const auto writer = Writer();
    for (const std::string line : {"one\n", "two\n", "three\n"}) {
      EXPECT_TRUE(writer->Append(line));
      writer->EndFile();
    }
  }
  fs::remove(File(2));
  SegmentReader reader = Reader();
  EXPECT_THAT(AllLines(reader), ElementsAre("one"));
  ASSERT_TRUE(reader.damage());
  EXPECT_EQ(reader.damage()->reason, "000002.jsonl.zst is missing");
}

TEST_F(SegmentsTest, AWriteThatFailsIsAnErrorAndTheNextOneBeginsAFile) {
  const auto writer = Writer();
  EXPECT_TRUE(writer->Append("one\n"));
  writer->EndFile();
  fs::remove_all(directory_ / "run");
  const auto failed = writer->Append("two\n");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("000002.jsonl.zst: No such file or directory"));
  fs::create_directory(directory_ / "run");
  EXPECT_TRUE(writer->Append("three\n"));
  SegmentReader reader = Reader();
  EXPECT_THAT(AllLines(reader), ElementsAre("three"));
}

}  // namespace
}  // namespace berth::recording
