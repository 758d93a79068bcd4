// Compares the queueing hints of Berth's plugins with recorded ones of kube-scheduler's plugins.
//
//   hints_replay FILE.ndjson.zst    a recording: prints the differences; exit code 1 if there are any
//   hints_replay -                  scenarios on stdin, one per line; prints "ok" or the differences for each
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "live_cluster.hpp"
#include "recording.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/framework/event_cache.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

using framework::ClusterEvent;
using framework::EventObjects;
using framework::EventResource;
using simdjson::dom::element;

constexpr std::size_t kLeastScenarios = testing::Repetitions(20);  // fewer indicate a broken recording
constexpr std::size_t kShownDifferences = 5;
constexpr std::string_view kStrength = "-SQE";  // the stronger hint of two registrations counts

// One letter for each waiting pod, by plugin (hints.go).
using Hints = std::map<std::string, std::string>;

// The hints of a plugin that may differ from kube-scheduler's, and those that do.
struct Exempted {
  std::size_t hints = 0;
  std::size_t different = 0;
};
using ExemptedByPlugin = std::map<std::string, Exempted>;

class Scenario {
 public:
  Scenario(element from, ExemptedByPlugin& exempted)
      : exempted_(exempted),
        cluster_(Text(from, "config"), Text(from, "gates"), simdjson::minify(from["cluster"].value())) {
    for (const element key : simdjson::dom::array(from["waiting"]))
      waiting_.emplace_back(std::string_view(key));
  }

  // Appends a text for each difference.
  void Compare(element step, std::vector<std::string>& differences) {
    const std::string kind = Text(step, "kind");
    const std::string key = Text(step, "key");
    const std::string place = fmt::format("{} {}", kind, key);
    element object;
    std::optional<std::string> json;
    if (step["object"].get(object) == simdjson::SUCCESS) json = simdjson::minify(object);
    const ports::ClusterChange change = cluster_.Replace(kind, key, json);
    cluster_.Apply(change);

    EventObjects objects;
    const std::vector<ClusterEvent> events =
        std::visit([&](const auto& one) { return EventsOf(one, key, objects); }, change);
    std::vector<std::string> labels;
    for (const ClusterEvent& event : events) labels.emplace_back(event.label);
    std::vector<std::string> wanted_labels;
    for (const element event : simdjson::dom::array(step["events"]))
      wanted_labels.push_back(Text(event, "label"));
    if (labels != wanted_labels) {
      differences.push_back(fmt::format("{}: events: kube-scheduler [{}], berth [{}]", place,
                                        fmt::join(wanted_labels, " "), fmt::join(labels, " ")));
      return;
    }
    std::size_t number = 0;
    for (const element event : simdjson::dom::array(step["events"])) {
      Hints wanted;
      for (const auto [plugin, letters] : simdjson::dom::object(event["hints"]))
        wanted.emplace(plugin, std::string_view(letters));
      CompareHints(place, wanted, Evaluate(events[number], key, objects), labels[number], differences);
      ++number;
    }
  }

 private:
  bool IsWaiting(const std::string& key) const { return std::ranges::find(waiting_, key) != waiting_.end(); }

  // The events that the scheduler loop derives from a change (cluster_updates.cpp).
  template <class T>
  std::vector<ClusterEvent> EventsOf(const ports::Change<T>& change, const std::string& key,
                                     EventObjects& objects) const {
    objects = framework::WithCache({change.before, change.after});
    if constexpr (std::is_same_v<T, api::Node>) {
      if (change.before == nullptr) return {cycle::kNodeAdded};
      if (change.after == nullptr) return {cycle::kNodeDeleted};
      return cycle::NodeEvents(*change.before, *change.after);
    } else if constexpr (std::is_same_v<T, api::Pod>) {
      if (change.after == nullptr) return {cycle::kAssignedPodDeleted};
      if (change.before != nullptr && !change.before->spec.node_name.empty())
        return cycle::PodEvents(*change.before, *change.after, EventResource::kAssignedPod);
      if (!change.after->spec.node_name.empty()) {
        objects.before = nullptr;
        return {cycle::kAssignedPodAdded};
      }
      if (!IsWaiting(key)) return {};
      return cycle::PodEvents(*change.before, *change.after, EventResource::kTargetPod);
    } else {
      const auto event = cycle::EventOf(change);
      return event ? std::vector{*event} : std::vector<ClusterEvent>{};
    }
  }

  Hints Evaluate(const ClusterEvent& event, const std::string& changed, const EventObjects& objects) {
    Hints hints;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (event.resource == EventResource::kTargetPod && waiting_[i] != changed) continue;
      const api::PodPtr pod = cluster_.Find<api::Pod>(waiting_[i]);
      const runtime::Profile* profile = cluster_.engine().FindProfile(pod->spec.scheduler_name);
      const cluster::PodInfo info = cluster::PreparePod(pod, cluster_.engine().symbols());
      for (const runtime::Profile::Registered& plugin : profile->registered()) {
        const char letter = HintOf(*profile, plugin, event, objects, info);
        if (letter == '-') continue;
        hints.try_emplace(std::string(plugin.plugin->Name()), waiting_.size(), '-').first->second[i] = letter;
      }
    }
    return hints;
  }

  char HintOf(const runtime::Profile& profile, const runtime::Profile::Registered& plugin,
              const ClusterEvent& event, const EventObjects& objects, const cluster::PodInfo& pod) const {
    std::size_t strongest = 0;
    for (const framework::EventRegistration& registered : plugin.events) {
      if (!registered.event.Matches(event)) continue;
      char letter = 'Q';
      if (registered.hint) {
        const auto hint = registered.hint(pod, objects);
        letter = !hint ? 'E' : *hint == framework::Hint::kQueue ? 'Q' : 'S';
      }
      strongest = std::max(strongest, kStrength.find(letter));
    }
    const char letter = kStrength[strongest];
    // The queue uses the combined hint.
    const std::string name(plugin.plugin->Name());
    const bool queued =
        profile.EvaluateHint(event, objects, pod, std::span(&name, 1), {}) != framework::Requeue::kSkip;
    return queued == (letter == 'Q' || letter == 'E') ? letter : '!';
  }

  void CompareHints(const std::string& place, const Hints& wanted, const Hints& got, const std::string& label,
                    std::vector<std::string>& differences) const {
    Hints all = wanted;
    all.insert(got.begin(), got.end());
    const std::string none(waiting_.size(), '-');
    for (const auto& [plugin, unused] : all) {
      const std::string& a = wanted.contains(plugin) ? wanted.at(plugin) : none;
      const std::string& b = got.contains(plugin) ? got.at(plugin) : none;
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        if (a[i] != b[i] && !IsExempted(plugin, a[i], b[i])) {
          differences.push_back(fmt::format("{}: {}: {} for {}: kube-scheduler {}, berth {}", place, label,
                                            plugin, waiting_[i], a[i], b[i]));
        }
      }
    }
  }

  // Lower case: Berth's hint may differ.
  bool IsExempted(const std::string& plugin, char wanted, char got) const {
    if ((wanted != 's' && wanted != 'q') || (got != 'S' && got != 'Q')) return false;
    Exempted& of_plugin = exempted_[plugin];
    ++of_plugin.hints;
    if ((wanted == 's') != (got == 'S')) ++of_plugin.different;
    return true;
  }

  ExemptedByPlugin& exempted_;
  LiveCluster cluster_;
  std::vector<std::string> waiting_;
};

// Empty if all hints are equal.
std::string Compare(std::string_view line, ExemptedByPlugin& exempted) {
  try {
    simdjson::dom::parser parser;
    const element from = parser.parse(line.data(), line.size());
    Scenario scenario(from, exempted);
    std::vector<std::string> differences;
    std::size_t number = 0;
    for (const element step : simdjson::dom::array(from["steps"])) {
      const std::size_t before = differences.size();
      scenario.Compare(step, differences);
      for (std::size_t i = before; i < differences.size(); ++i)
        differences[i] = fmt::format("step {}: {}", number, differences[i]);
      ++number;
    }
    if (differences.empty()) return "";
    const std::size_t count = differences.size();
    differences.resize(std::min(count, kShownDifferences));
    return fmt::format("{} differences:\t{}", count, fmt::join(differences, "\t"));
  } catch (const std::exception& error) {
    return fmt::format("cannot be replayed: {}", error.what());
  }
}

// An exemption without any difference must go (mayDiffer in hints.go).
bool AreNeeded(const ExemptedByPlugin& exempted) {
  bool all = true;
  for (const auto& [plugin, of_plugin] : exempted) {
    fmt::print("{}: {} hints may differ, {} do\n", plugin, of_plugin.hints, of_plugin.different);
    all = all && of_plugin.different > 0;
  }
  return all;
}

int ReplayFile(const std::string& path) {
  std::size_t scenarios = 0;
  std::size_t mismatches = 0;
  ExemptedByPlugin exempted;
  testing::ForEachLine(path, [&](std::string_view line) {
    ++scenarios;
    const std::string difference = Compare(line, exempted);
    if (difference.empty()) return;
    ++mismatches;
    fmt::print("{}: {}\n", testing::FirstMember(line), difference);
  });
  constexpr bool kWhole = testing::Repetitions(8) == 8;
  const bool all_needed = AreNeeded(exempted) || !kWhole;
  fmt::print("{} scenarios, {} mismatches\n", scenarios, mismatches);
  return mismatches == 0 && all_needed && scenarios >= kLeastScenarios ? 0 : 1;
}

std::string Answer(std::string_view line) {
  ExemptedByPlugin unused;
  const std::string difference = Compare(line, unused);
  return difference.empty() ? "ok" : difference;
}

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  return berth::testing::ReplayMain(argc, argv, "hints_replay", berth::replay::ReplayFile,
                                    berth::replay::Answer);
}
