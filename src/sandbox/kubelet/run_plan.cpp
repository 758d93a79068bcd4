#include "sandbox/kubelet/run_plan.hpp"

#include "base/go_duration.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

// The words of a command line, split as the runtime or a shell does.
std::vector<std::string> WordsOf(const json::object& container) {
  std::vector<std::string> words;
  for (const std::string_view list : {"command", "args"}) {
    for (const auto& part : ArrayOrEmpty(container, list)) {
      if (!part.is_string()) continue;
      std::string word;
      for (const char c : std::string_view(part.get_string())) {
        if (std::string_view(" \t\n;&|()").find(c) == std::string_view::npos) {
          word += c;
        } else if (!word.empty()) {
          words.push_back(std::exchange(word, {}));
        }
      }
      if (!word.empty()) words.push_back(std::move(word));
    }
  }
  return words;
}

constexpr std::chrono::duration<double> kLongest{1e8};  // about three years; longer times have no end

// The syntax of sleep(1); nullopt for "infinity".
std::optional<Duration> SleepTime(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double factor = unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86400 : 1;
  if (number * factor > kLongest.count()) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(number * factor));
}

RunPlan FromCommand(const std::vector<std::string>& words) {
  RunPlan plan{.runs_for = Duration::zero()};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "false" || words[i].ends_with("/false")) plan.exit_code = 1;
    if (i + 1 == words.size()) break;
    if (words[i] == "sleep" || words[i].ends_with("/sleep")) {
      const auto time = SleepTime(words[i + 1]);
      if (!time || *plan.runs_for + *time > kLongest) return {};
      *plan.runs_for += *time;
    } else if (words[i] == "exit") {
      std::from_chars(words[i + 1].data(), words[i + 1].data() + words[i + 1].size(), plan.exit_code);
    }
  }
  return plan;
}

std::string_view TextOf(const json::object& map, std::string_view key) {
  const json::value* value = Find(map, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

}  // namespace

RunPlan RunPlanOf(const json::object& pod, Duration otherwise) {
  const json::object& annotations = ObjectOrEmpty(pod, "metadata.annotations");
  const auto run_for = TextOf(annotations, kRunFor);
  const auto exit_code = TextOf(annotations, kExitCode);
  RunPlan plan;
  const auto& containers = ArrayOrEmpty(pod, "spec.containers");
  if (FindString(pod, "spec.restartPolicy") != "Always" && !containers.empty() && containers[0].is_object()) {
    const auto words = WordsOf(containers[0].get_object());
    const json::object* owner = ControllerOf(pod);
    if (!words.empty())
      plan = FromCommand(words);
    else if (owner != nullptr && FindString(*owner, "kind") == "Job")
      plan.runs_for = otherwise;
  }
  if (!run_for.empty()) plan.runs_for = ParseSpan(run_for);
  if (!exit_code.empty())
    std::from_chars(exit_code.data(), exit_code.data() + exit_code.size(), plan.exit_code);
  return plan;
}

std::optional<Duration> ParseSpan(std::string_view text) {
  const auto duration = ParseGoDuration(text);
  return duration && *duration >= Duration::zero() ? duration : std::nullopt;
}

}  // namespace berth::sandbox
