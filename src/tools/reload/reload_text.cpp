#include "tools/reload/reload_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text_layout.hpp"
#include "tools/migrate/server.hpp"

namespace berth::reload {
namespace {

using config::Value;
using migrate::ItemsAt;
using migrate::TextAt;
using migrate::TextsAt;

constexpr std::string_view kNoNode = "(none fits)";

std::string_view TextOf(std::string_view result) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTexts{{
      {"applied", "uses the configuration from now on"},
      {"unchanged", "uses this configuration already"},
      {"previewed", "accepts the configuration; it was not applied"},
      {"invalid", "did not apply the configuration, because it is invalid"},
      {"refused", "did not apply the configuration"},
  }};
  for (const auto& [name, text] : kTexts) {
    if (name == result) return text;
  }
  return result;
}

std::size_t CountAt(const Value& value, std::string_view name) {
  std::size_t count = 0;
  if (const Value* number = value.Find(name); number != nullptr)
    std::from_chars(number->text.data(), number->text.data() + number->text.size(), count);
  return count;
}

std::string NodeAt(const Value& changed, std::string_view name) {
  const std::string node = TextAt(changed, {name});
  return node.empty() ? std::string(kNoNode) : node;
}

std::string PreviewText(const Value& preview) {
  const std::size_t compared = CountAt(preview, "compared"), changed = CountAt(preview, "changed");
  if (compared == 0) return "No decision was compared: this scheduler has none of pods that still exist.\n";
  std::string text =
      fmt::format("{} of the last {} would differ", WithCommas(changed), Counted(compared, "decision"));
  const auto& pods = ItemsAt(preview, "changedPods");
  if (pods.empty()) {
    text += ".\n";
  } else {
    text += ":\n\n";
    std::vector<TableRow> rows{{"POD", "NODE", "NODE WITH THIS CONFIGURATION"}};
    for (const Value& pod : pods)
      rows.push_back({TextAt(pod, {"pod"}), NodeAt(pod, "nodeBefore"), NodeAt(pod, "nodeAfter")});
    text += TextTable(rows);
    if (changed > pods.size()) text += fmt::format("and {} more\n", WithCommas(changed - pods.size()));
  }
  for (const std::string& left_out : TextsAt(preview, "leftOut"))
    text += fmt::format("Not considered: {}\n", left_out);
  return text;
}

}  // namespace

bool IsAccepted(const Value& report) {
  const std::string result = TextAt(report, {"result"});
  return result == "applied" || result == "unchanged" || result == "previewed";
}

std::string ReloadText(const Value& report, const std::string& where) {
  std::string text = fmt::format("{} {}", where, TextOf(TextAt(report, {"result"})));
  const std::string message = TextAt(report, {"message"});
  text += message.empty() ? "\n" : fmt::format(": {}\n", message);
  if (const Value* preview = report.Find("preview")) text += PreviewText(*preview);
  return text;
}

}  // namespace berth::reload
