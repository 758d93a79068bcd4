#include "bench/recorded_events.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <fstream>
#include <memory>
#include <utility>

#include "bench/measuring.hpp"

namespace berth::bench {
namespace {

// The names of the kinds; events refer to them.
using Kinds = std::vector<std::unique_ptr<const std::string>>;

std::string_view Keep(Kinds& kinds, std::string_view name) {
  for (const auto& kind : kinds) {
    if (*kind == name) return *kind;
  }
  return *kinds.emplace_back(std::make_unique<const std::string>(name));
}

struct Recording {
  Kinds kinds;
  std::vector<Event> events;
  Size size;
};

bool IsPending(const simdjson::dom::element object) {
  std::string_view node;
  return object["spec"]["nodeName"].get(node) != simdjson::SUCCESS || node.empty();
}

void AddLine(Recording& recording, simdjson::dom::parser& parser, const std::string& line,
             const std::string& place) {
  constexpr std::pair<std::string_view, Event::Type> kTypes[] = {{"ADDED", Event::Type::kAdded},
                                                                 {"MODIFIED", Event::Type::kModified},
                                                                 {"DELETED", Event::Type::kDeleted}};
  simdjson::dom::element event, object;
  std::string_view type, kind;
  if (parser.parse(line).get(event) != simdjson::SUCCESS || event["type"].get(type) != simdjson::SUCCESS ||
      event["object"].get(object) != simdjson::SUCCESS || object["kind"].get(kind) != simdjson::SUCCESS) {
    Stop(place + R"(: expected {"type": "ADDED", "object": {"kind": ...}})");
  }
  for (const auto& [name, value] : kTypes) {
    if (type != name) continue;
    if (kind == "Node" && value == Event::Type::kAdded) ++recording.size.nodes;
    if (kind == "Pod" && IsPending(object)) ++recording.size.pods;
    recording.events.push_back({value, Keep(recording.kinds, kind), simdjson::minify(object)});
    return;
  }
  Stop(fmt::format("{}: type \"{}\": expected ADDED, MODIFIED or DELETED", place, type));
}

}  // namespace

RecordedWorkload ReadEvents(const std::string& path) {
  std::ifstream file(path);
  if (!file) Stop(path + ": cannot be read");
  auto recording = std::make_shared<Recording>();
  simdjson::dom::parser parser;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);)
    AddLine(*recording, parser, line, fmt::format("{}, line {}", path, ++number));
  if (recording->size.pods == 0) Stop(path + ": there is no pending pod");
  const Size size = recording->size;
  return {.workload = {.name = "recorded",
                       .about = "events from a file",
                       .node = {},
                       .pod = {},
                       .around = {},
                       .churn = {},
                       .recorded =
                           [recording](const Listener& listener) {
                             for (const Event& event : recording->events) listener(event);
                           }},
          .size = size};
}

}  // namespace berth::bench
