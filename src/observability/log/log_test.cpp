#include "observability/log/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <thread>
#include <vector>

namespace berth::log {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

std::string Captured(void (*write)()) {
  testing::internal::CaptureStderr();
  write();
  return testing::internal::GetCapturedStderr();
}

bool MatchesShort(const std::string& line) {
  const auto at = line.find("] \"short\" k=");
  return at != line.npos && line.find(']', at + 1) == line.npos;
}

TEST(Log, LinesHaveKlogsFormat) {
  const auto line = Captured([] { Info("Attempting to schedule pod", {{"pod", "default/p6"}}); });
  EXPECT_THAT(line,
              MatchesRegex("I[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} +[0-9]+ log_test\\.cpp:[0-9]+\\] "
                           "\"Attempting to schedule pod\" pod=\"default/p6\"\n"));
}

TEST(Log, TheProcessIdIsPaddedToSevenColumns) {
  const auto line = Captured([] { Info("x"); });
  const auto pid = std::to_string(getpid());
  ASSERT_LE(pid.size(), 7U);
  EXPECT_EQ(line.substr(21, 9), " " + std::string(7 - pid.size(), ' ') + pid + " ");
}

TEST(Log, TheFirstLetterIsTheSeverity) {
  EXPECT_EQ(Captured([] { Warning("x"); })[0], 'W');
  EXPECT_EQ(Captured([] { Error("x"); })[0], 'E');
}

TEST(Log, ANegativeVerbosityDropsInfo) {
  SetVerbosity(-1);
  EXPECT_EQ(Captured([] { Info("x"); }), "");
  EXPECT_EQ(Captured([] { Warning("x"); })[0], 'W');
  SetVerbosity(0);
  EXPECT_EQ(Captured([] { Info("x"); })[0], 'I');
}

TEST(Log, ValuesArePrintedByKind) {
  const auto line = Captured([] {
    Info("m", {{"n", -3}, {"u", 18446744073709551615ULL}, {"b", true}, {"r", 0.5}, {"s", "a \"b\"\t\x01"}});
  });
  EXPECT_THAT(line, EndsWith("] \"m\" n=-3 u=18446744073709551615 b=true r=0.5 s=\"a \\\"b\\\"\\t\\x01\"\n"));
}

TEST(Log, TextOfSeveralLinesIsIndented) {
  const auto line = Captured([] { Info("m", {{"err", "one\ntwo"}, {"next", 1}}); });
  EXPECT_THAT(line, EndsWith("] \"m\" err=<\n\tone\n\ttwo\n > next=1\n"));
}

TEST(Log, AMessageIsNotAFormatString) {
  EXPECT_THAT(Captured([] { Info("{} %s {0}"); }), EndsWith("] \"{} %s {0}\"\n"));
}

TEST(Log, VerbosityDeterminesTheEnabledLevels) {
  SetVerbosity(2);
  EXPECT_TRUE(V(0));
  EXPECT_TRUE(V(2));
  EXPECT_FALSE(V(3));
  SetVerbosity(0);
  EXPECT_FALSE(V(1));
}

TEST(Log, JsonLinesHaveComponentBasesFormat) {
  SetFormat(Format::kJson);
  SetVerbosity(3);
  const auto line = Captured([] {
    if (const auto log = V(3))
      log.Info("Attempting", {{"pod", Value::Object("ns/p6")}, {"node", "n\"1"}, {"n", 3}, {"b", false}});
  });
  const auto node = Captured([] { Info("x", {{"node", Value::Object("n1")}}); });
  const auto error = Captured([] { Error("failed", {{"err", "a\nb"}}); });
  SetVerbosity(0);
  SetFormat(Format::kText);
  EXPECT_THAT(line,
              MatchesRegex("\\{\"ts\":[0-9]{13}\\.[0-9]{4},\"caller\":\"log/log_test\\.cpp:[0-9]+\",\"msg\":"
                           "\"Attempting\",\"v\":3,\"pod\":\\{\"name\":\"p6\",\"namespace\":\"ns\"\\},"
                           "\"node\":\"n\\\\\"1\",\"n\":3,\"b\":false\\}\n"));
  EXPECT_THAT(node, EndsWith(",\"v\":0,\"node\":{\"name\":\"n1\"}}\n"));
  EXPECT_THAT(error, EndsWith("\"msg\":\"failed\",\"err\":\"a\\nb\"}\n"));
  EXPECT_EQ(Captured([] { Info("x"); })[0], 'I') << "back in the text format";
}

TEST(Log, LongLinesOfSeveralThreadsAreNotMixed) {
  // A pipe holds less than these lines, so that writes are partial or block.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  std::string read;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      read.append(buffer, static_cast<std::size_t>(got));
  });
  const std::string long_text(200'000, 'x');
  Info("long", {{"text", long_text}});
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([] {
        for (int k = 0; k < 200; ++k) Info("short", {{"k", k}});
      });
    }
  }
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  reader.join();
  ::close(ends[0]);
  EXPECT_THAT(read.substr(0, read.find('\n')), EndsWith("\"long\" text=\"" + long_text + "\""));
  std::istringstream lines(read);
  std::size_t shorts = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.front(), 'I') << line;
    shorts += MatchesShort(line);
  }
  EXPECT_EQ(shorts, 800U);
}

TEST(Once, ReportsEachKeyOnceAndEvictsTheOldest) {
  Once once(2);
  EXPECT_TRUE(once.First("a"));
  EXPECT_FALSE(once.First("a"));
  EXPECT_TRUE(once.First("b"));
  EXPECT_TRUE(once.First("c"));
  EXPECT_FALSE(once.First("b"));
  EXPECT_TRUE(once.First("a")) << "a was the oldest of three";
}

}  // namespace
}  // namespace berth::log
