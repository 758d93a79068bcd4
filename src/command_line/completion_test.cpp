#include "command_line/completion.hpp"

#include <gtest/gtest.h>

#include "command_line/command.hpp"

namespace berth::command_line {
namespace {

using Words = std::vector<std::string>;

// "berth" with the commands "config", which has the commands "check" and "convert", and "explain".
int Berth(std::span<const std::string> args) {
  Command berth("berth", "A program.");
  berth.Subcommand("config", "works on files", [](std::span<const std::string> rest) {
    bool quiet = false;
    Command config("berth config", "Works on files.");
    config.flags().Bool("quiet", quiet, "print less");
    config.Subcommand("check", "checks files", [](std::span<const std::string> more) {
      Words files;
      Command check("berth config check", "Checks files.");
      check.Arguments("FILE", files, "the files");
      return check.Parse(more).value_or(0);
    });
    config.Subcommand("convert", "converts files", [](std::span<const std::string>) { return 3; });
    return config.Dispatch(rest);
  });
  berth.Subcommand("explain", "explains pods", [](std::span<const std::string> rest) {
    std::string output, ns, file, pod;
    Command explain("berth explain", "Explains pods.");
    FlagSet& flags = explain.flags();
    flags.Choice("output", output, {"text", "wide", "json"}, "the form");
    flags.Shorthand('o');
    flags.String("namespace", ns, "the namespace");
    flags.Shorthand('n');
    flags.CompleteWith([] { return Words{"default", "shop"}; });
    flags.Path("kubeconfig", file, "a file");
    explain.OptionalArgument("POD", pod, "a pod");
    explain.CompleteArguments([&] { return Words{"pod/web-of-" + ns, "pod/db"}; });
    return explain.Parse(rest).value_or(0);
  });
  return berth.Dispatch(args);
}

std::string Completed(Words words) {
  words.insert(words.begin(), std::string(kCompletionRequest));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Berth(words), 0);
  return ::testing::internal::GetCapturedStdout();
}

TEST(Completion, OffersWhatCanFollow) {
  struct Case {
    const char* name;
    Words words;  // the last one is completed
    const char* want;
  };
  const Case cases[] = {
      {"a command", {"ex"}, "explain\texplains pods\n:4\n"},
      {"all commands",
       {""},
       "config\tworks on files\nexplain\texplains pods\nhelp\tprints the help of a command\n:4\n"},
      {"a command after help", {"help", "con"}, "config\tworks on files\n:4\n"},
      {"a command of a command", {"config", "con"}, "convert\tconverts files\n:4\n"},
      {"a command after a flag", {"config", "--quiet", "ch"}, "check\tchecks files\n:4\n"},
      {"nothing after an unknown command", {"cnofig", ""}, ":4\n"},
      {"a flag", {"explain", "--out"}, "--output\tthe form\n:4\n"},
      {"a flag of a command with commands", {"config", "--q"}, "--quiet\tprint less\n:4\n"},
      {"the value of a flag", {"explain", "--output", "w"}, "wide\n:4\n"},
      {"the value of a short flag", {"explain", "-o", "j"}, "json\n:4\n"},
      {"the value after =", {"explain", "--output=t"}, "text\n:4\n"},
      {"a value from a completer", {"explain", "-n", ""}, "default\nshop\n:4\n"},
      {"a file as the value of a flag", {"explain", "--kubeconfig", "/et"}, ":0\n"},
      {"an argument, with the flags before it", {"explain", "-n", "shop", "pod/w"}, "pod/web-of-shop\n:4\n"},
      {"an argument after an invalid flag", {"explain", "--outptu=x", "-o", "none", "pod/d"}, "pod/db\n:4\n"},
      {"files as arguments", {"config", "check", "a"}, ":0\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Completed(c.words), c.want) << c.name;
}

TEST(Help, OfACommandIsPrintedAfterTheWordHelp) {
  const std::pair<Words, const char*> cases[] = {
      {{"help", "explain"}, "Explains pods."},
      {{"help", "config", "check"}, "Checks files."},
      {{"help"}, "A program."},
      {{"config", "help"}, "Works on files."},
  };
  for (const auto& [words, want] : cases) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(Berth(words), 0);
    EXPECT_TRUE(::testing::internal::GetCapturedStdout().starts_with(want)) << want;
  }
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Berth(Words{"help", "explian"}), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "Error: unknown command \"explian\"; did you mean \"explain\"? (berth --help lists all)\n");
}

TEST(CompletionScript, ExistsForEveryShell) {
  for (const std::string_view shell : kShells)
    EXPECT_NE(CompletionScript(shell).find(kCompletionRequest), std::string::npos) << shell;
}

}  // namespace
}  // namespace berth::command_line
