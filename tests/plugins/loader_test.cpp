#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scheduler/plugin_host/plugin_loader.hpp"

namespace berth::plugin_host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& path, Duration deadline = std::chrono::seconds(20)) {
  const auto loaded = Load(path, {.deadline = deadline});
  return loaded ? "no error" : loaded.error().message;
}

TEST(Loader, RefusesWhatWouldHarmTheScheduler) {
  const struct {
    const char* library;
    const char* text;
  } cases[] = {
      {"crashes_at_start", "crashed while it was loaded: signal 11 (Segmentation fault)"},
      {"crashes", "crashed in berth_plugin_describe: signal 11 (Segmentation fault)"},
      {"exits", "ended the process in berth_plugin_describe: exit code 3"},
      {"throws", "threw an exception: no licence"},
      {"other_version", "is built for version 7.3 of berth_plugin.h, this Berth has 1.0"},
      {"no_version", "does not export berth_plugin_version"},
      {"no_describe", "does not export berth_plugin_describe"},
      {"no_tables", "berth_plugin_describe returned NULL"},
      {"both_forms", "plugin \"Bad\": filter and filter_node: only one may be given"},
  };
  for (const auto& c : cases) {
    const std::string path = std::string(BAD_PLUGINS) + "/plugin_" + c.library + ".so";
    EXPECT_THAT(ErrorOf(path), AllOf(HasSubstr("--berth-plugin " + path + ": "), HasSubstr(c.text)))
        << c.library;
  }
}

TEST(Loader, WaitsForALibraryUntilTheDeadline) {
  const auto deadline = std::chrono::seconds(2);
  const std::string folder = std::string(BAD_PLUGINS) + "/plugin_";
  EXPECT_THAT(ErrorOf(folder + "hangs_at_start.so", deadline),
              HasSubstr("hung while it was loaded: not finished after 2 s"));
  EXPECT_THAT(ErrorOf(folder + "hangs.so", deadline), HasSubstr("hung in berth_plugin_describe"));
}

TEST(Loader, SaysWhatAFileIsNot) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/text.so") << "#!/bin/sh\n";
  std::ofstream(folder + "/empty.so").flush();
  std::ofstream(folder + "/torn.so") << "\177ELF and nothing else that belongs there";
  EXPECT_THAT(ErrorOf(folder + "/text.so"), HasSubstr("not a shared object"));
  EXPECT_THAT(ErrorOf(folder + "/empty.so"), HasSubstr("not a shared object"));
  EXPECT_THAT(ErrorOf(folder + "/torn.so"), HasSubstr("cannot be loaded: "));
  EXPECT_THAT(ErrorOf(folder + "/missing.so"), HasSubstr("no such file"));
  EXPECT_THAT(ErrorOf(folder), HasSubstr("not a regular file"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no file given"));
  // A program is not a library, although it has the same file format.
  EXPECT_THAT(ErrorOf("/proc/self/exe"), HasSubstr("cannot be loaded: "));
}

}  // namespace
}  // namespace berth::plugin_host
