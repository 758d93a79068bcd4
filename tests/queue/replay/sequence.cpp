#include "sequence.hpp"

#include <simdjson.h>

#include "testing/builders.hpp"

namespace berth::replay {
namespace {

using simdjson::dom::element;
using std::chrono::milliseconds;

std::string Text(element from, std::string_view key) {
  std::string_view text;
  return from[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

std::int64_t Number(element from, std::string_view key) {
  std::int64_t number = 0;
  return from[key].get(number) == simdjson::SUCCESS ? number : 0;
}

bool Flag(element from, std::string_view key) {
  bool flag = false;
  return from[key].get(flag) == simdjson::SUCCESS && flag;
}

template <class Visit>
void ForEach(element from, std::string_view key, Visit&& visit) {
  simdjson::dom::array items;
  if (from[key].get(items) != simdjson::SUCCESS) return;
  for (const element item : items) visit(item);
}

std::vector<std::string> Texts(element from, std::string_view key) {
  std::vector<std::string> texts;
  ForEach(from, key, [&](element item) { texts.emplace_back(std::string_view(item)); });
  return texts;
}

State Pairs(element from, std::string_view key) {
  State pairs;
  simdjson::dom::object object;
  if (from[key].get(object) != simdjson::SUCCESS) return pairs;
  for (const auto [name, value] : object) pairs.emplace(name, std::string_view(value));
  return pairs;
}

api::PodPtr ParsePod(element from) {
  auto pod = testing::MakePod(Text(from, "name"));
  pod.Uid(Text(from, "uid")).Scheduler(Text(from, "profile"));
  pod.Priority(static_cast<std::int32_t>(Number(from, "priority")));
  for (const auto& [key, value] : Pairs(from, "labels")) pod.Label(key, value);
  for (std::int64_t i = 0; i < Number(from, "tolerations"); ++i)
    pod.Tolerating("t" + std::to_string(i), "Exists");
  for (std::int64_t i = 0; i < Number(from, "gates"); ++i) pod.Gate("g" + std::to_string(i));
  pod.Cpu(std::to_string(Number(from, "milliCPU")) + "m");
  for (std::int64_t i = 0; i < Number(from, "claims"); ++i) {
    const std::string claim = "c" + std::to_string(i);
    pod.raw().status.resource_claim_statuses.push_back({claim, claim});
  }
  pod.Nominated(Text(from, "nominated"));
  if (const std::string group = Text(from, "group"); !group.empty()) pod.Group(group);
  return pod.Share();
}

api::PodGroupPtr ParseGroup(element from) {
  const auto priority = static_cast<std::int32_t>(Number(from, "priority"));
  if (Flag(from, "composite"))
    return testing::MakeComposite(Text(from, "name"), Text(from, "parent"), std::nullopt, priority);
  auto group =
      std::make_shared<api::PodGroup>(*testing::MakeGroup(Text(from, "name"), std::nullopt, priority));
  group->parent = Text(from, "parent");
  return group;
}

Event ParseEvent(element from) {
  Event event{Text(from, "resource"),
              static_cast<framework::ActionMask>(Number(from, "action")),
              Text(from, "label"),
              Text(from, "before"),
              Text(from, "after"),
              Text(from, "target"),
              std::nullopt};
  if (from["upTo"].error() == simdjson::SUCCESS)
    event.up_to = static_cast<std::int32_t>(Number(from, "upTo"));
  return event;
}

Step ParseStep(element from) {
  Step step;
  Operation& op = step.operation;
  op.kind = Text(from, "op");
  op.pod = Text(from, "pod");
  if (element object; from["object"].get(object) == simdjson::SUCCESS) op.object = ParsePod(object);
  op.rejectors = Texts(from, "rejectors");
  op.pending = Texts(from, "pending");
  if (from["nominate"].error() == simdjson::SUCCESS) op.nominate = Text(from, "nominate");
  if (element event; from["event"].get(event) == simdjson::SUCCESS) op.event = ParseEvent(event);
  op.pods = Texts(from, "pods");
  op.millis = Number(from, "ms");
  op.popped = Text(from, "popped");
  op.outcome = Text(from, "outcome");
  op.name = Text(from, "name");
  if (element group; from["group"].get(group) == simdjson::SUCCESS) op.group = ParseGroup(group);
  step.set = Pairs(from, "set");
  step.gone = Texts(from, "gone");
  return step;
}

FakePlugin ParsePlugin(element from) {
  FakePlugin plugin{Text(from, "name"), Flag(from, "preEnqueue"), Texts(from, "profiles"), {}};
  ForEach(from, "events", [&](element event) {
    plugin.events.push_back({Text(event, "resource"),
                             static_cast<framework::ActionMask>(Number(event, "action")),
                             Flag(event, "hint")});
  });
  return plugin;
}

}  // namespace

Sequence ParseSequence(std::string_view line) {
  thread_local simdjson::dom::parser parser;
  element from;
  if (const auto error = parser.parse(line.data(), line.size()).get(from))
    throw std::runtime_error(simdjson::error_message(error));
  Sequence sequence;
  sequence.seed = static_cast<std::uint64_t>(Number(from, "seed"));
  const element options = from["options"];
  sequence.start_millis = Number(options, "start");
  sequence.options.initial_backoff = milliseconds(Number(options, "initialBackoff"));
  sequence.options.max_backoff = milliseconds(Number(options, "maxBackoff"));
  sequence.options.max_in_unschedulable = milliseconds(Number(options, "maxInUnschedulable"));
  ForEach(from, "plugins", [&](element plugin) { sequence.plugins.push_back(ParsePlugin(plugin)); });
  ForEach(from, "steps", [&](element step) { sequence.steps.push_back(ParseStep(step)); });
  return sequence;
}

}  // namespace berth::replay
