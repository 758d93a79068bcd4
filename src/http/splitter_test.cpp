#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "http/length_splitter.hpp"
#include "http/line_splitter.hpp"

namespace berth::http {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kStream{"\0\0\0\3abc\0\0\0\0\0\0\0\1x\0\0\1\2", 4 + 3 + 4 + 4 + 1 + 4};

TEST(LengthSplitter, FindsTheSameFramesInPiecesOfAnySize) {
  const std::string stream = std::string(kStream) + std::string(258, 'y');
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    LengthSplitter splitter(300);
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(splitter.Feed(std::string_view(stream).substr(at, piece), [&](std::string_view frame) {
        frames.emplace_back(frame);
        return true;
      }));
    }
    EXPECT_THAT(frames, ElementsAre("abc", "x", std::string(258, 'y'))) << "in pieces of " << piece;
    EXPECT_TRUE(splitter.End([](std::string_view) { return true; }));
  }
}

TEST(LengthSplitter, AnInterruptedStreamIsIncomplete) {
  for (std::size_t size : {1u, 3u, 4u, 6u}) {
    LengthSplitter splitter(10);
    ASSERT_TRUE(splitter.Feed(kStream.substr(0, size), [](std::string_view) { return true; }));
    EXPECT_FALSE(splitter.End([](std::string_view) { return true; })) << "after " << size;
  }
}

TEST(LengthSplitter, ALengthBeyondTheLimitIsRejectedBeforeAllocation) {
  for (const std::size_t piece : {1u, 4u, 8u}) {
    LengthSplitter splitter(16);
    constexpr std::string_view kLong{
        "\xff\xff\xff\xff"
        "abcd",
        8};
    bool fine = true;
    for (std::size_t at = 0; fine && at < kLong.size(); at += piece)
      fine = splitter.Feed(kLong.substr(at, piece), [](std::string_view) { return true; });
    EXPECT_FALSE(fine) << "in pieces of " << piece;
  }
}

TEST(LengthSplitter, TheCallbackCanStop) {
  LengthSplitter splitter(10);
  int taken = 0;
  EXPECT_FALSE(splitter.Feed(kStream, [&](std::string_view) { return ++taken < 1; }));
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace berth::http
