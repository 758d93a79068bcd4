#include "command/flags.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/nearest.hpp"

namespace berth::command {
namespace {

std::string NearestFlag(const CLI::App& app, std::string_view text) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return Nearest(text.substr(0, text.find('=')), names);
}

}  // namespace

std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> args) {
  // CLI11 consumes its vector from the back.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ExtrasError&) {
    const auto extras = app.remaining();
    const std::string first = extras.empty() ? "" : extras.front();
    const std::string near = NearestFlag(app, first);
    std::fprintf(stderr, "Error: %s %s%s\n",
                 first.starts_with("-") ? "unknown flag:" : "unexpected argument:", first.c_str(),
                 near.empty() ? "" : ("; did you mean " + near + "?").c_str());
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "Error: %s\n", error.what());
  }
  return 1;
}

}  // namespace berth::command
