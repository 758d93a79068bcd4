#include "command_line/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::command_line {
namespace {

using testing::ElementsAre;

using Words = std::vector<std::string>;

// A command with flags and arguments, and what it wrote to standard error.
class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    command_.flags().Path("config", config_, "the configuration");
    command_.flags().Require();
    command_.flags().Bool("quiet", quiet_, "print less");
    command_.Argument("FROM", from_, "the old file");
    command_.OptionalArgument("TO", to_, "the new file");
  }
  std::string Error(const Words& args) {
    testing::internal::CaptureStderr();
    const auto code = command_.Parse(args);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code.has_value(), !text.empty());
    return text;
  }

  std::string config_, from_, to_;
  bool quiet_ = false;
  Command command_{"berth convert", "Converts a file."};
};

TEST_F(CommandTest, FlagsAndArgumentsMayBeMixed) {
  EXPECT_EQ(Error({"a", "--config=c", "b", "--quiet"}), "");
  EXPECT_EQ(from_, "a");
  EXPECT_EQ(to_, "b");
  EXPECT_EQ(config_, "c");
  EXPECT_TRUE(quiet_);
}

TEST_F(CommandTest, ErrorsNameWhatIsMissingOrTooMuch) {
  EXPECT_EQ(Error({"--config=c"}), "Error: missing argument FROM: the old file\n");
  EXPECT_EQ(Error({"--config=c", "a", "b", "d"}),
            "Error: unexpected argument: d (usage: berth convert FROM [TO] [flags])\n");
}

TEST_F(CommandTest, ARequiredFlagMustBeGiven) {
  EXPECT_EQ(Error({"a"}), "Error: required flag \"--config\" is not set: the configuration\n");
}

TEST_F(CommandTest, AnUnknownFlagIsReportedWithTheNearestOne) {
  EXPECT_EQ(Error({"--confg=c", "a"}), "Error: unknown flag: --confg; did you mean --config?\n");
}

TEST_F(CommandTest, HelpWinsOverMissingArguments) {
  command_.Example("berth convert old.yaml --config c");
  for (const char* flag : {"--help", "-h"}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(command_.Parse(Words{flag}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "Converts a file.\n\n"
              "Usage:\n  berth convert FROM [TO] [flags]\n\n"
              "Examples:\n  berth convert old.yaml --config c\n\n"
              "Arguments:\n\n"
              "  FROM   the old file\n"
              "  TO     the new file\n\n"
              "Flags:\n\n"
              "      --config FILE   the configuration (required)\n"
              "  -h, --help          Prints this help.\n"
              "      --quiet         print less\n");
  }
}

TEST(CommandArguments, AreAllThatFollow) {
  Words files;
  Command command("berth check", "Checks files.");
  command.Arguments("FILE", files, "the files");
  EXPECT_EQ(command.Parse(Words{"a", "-", "b"}), std::nullopt);
  EXPECT_THAT(files, ElementsAre("a", "-", "b"));
}

class GroupTest : public testing::Test {
 protected:
  GroupTest() {
    group_.flags().Bool("quiet", quiet_, "print less");
    group_.Subcommand("check", "checks files", [this](std::span<const std::string> args) {
      rest_.assign(args.begin(), args.end());
      return 7;
    });
  }
  std::string Error(const Words& args) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(group_.Dispatch(args), 1);
    return testing::internal::GetCapturedStderr();
  }

  bool quiet_ = false;
  Words rest_;
  Command group_{"berth config", "Works on files."};
};

TEST_F(GroupTest, ASubcommandGetsTheArgumentsAfterItsName) {
  EXPECT_EQ(group_.Dispatch(Words{"--quiet", "check", "--other", "a"}), 7);
  EXPECT_TRUE(quiet_);
  EXPECT_THAT(rest_, ElementsAre("--other", "a"));
}

TEST_F(GroupTest, AnUnknownOrMissingSubcommandIsAnError) {
  EXPECT_EQ(Error({}), "Error: missing command: expected one of check (berth config --help lists all)\n");
  EXPECT_EQ(Error({"chek"}),
            "Error: unknown command \"chek\"; did you mean \"check\"? (berth config --help lists all)\n");
}

TEST_F(GroupTest, HelpListsTheSubcommands) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(group_.Dispatch(Words{"-h"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "Works on files.\n\n"
            "Usage:\n  berth config <command> [flags]\n\n"
            "Commands:\n\n"
            "  check   checks files\n\n"
            "Flags:\n\n"
            "  -h, --help    Prints this help.\n"
            "      --quiet   print less\n\n"
            "See berth config <command> --help for details.\n");
}

}  // namespace
}  // namespace berth::command_line
