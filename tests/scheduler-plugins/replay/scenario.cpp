#include "scenario.hpp"

#include <simdjson.h>

#include <stdexcept>

#include "kubernetes/api/decode.hpp"

namespace berth::replay {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

template <class T>
T Checked(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

template <class T>
T Decoded(element object) {
  api::Decoder decoder;
  return Checked(decoder.Object<T>(simdjson::minify(object)));
}

std::vector<api::Pod> PodsOf(element list) {
  std::vector<api::Pod> pods;
  for (const element pod : array(list)) pods.push_back(Decoded<api::Pod>(pod));
  return pods;
}

}  // namespace

Scenario ParseScenario(std::string_view line) {
  simdjson::dom::parser parser;
  const element root = parser.parse(simdjson::padded_string(line));
  Scenario scenario;
  scenario.seed = root["seed"];
  scenario.plugin = std::string_view(root["plugin"]);
  scenario.args = Checked(yaml::ParseValue(simdjson::minify(element(root["args"]))));
  scenario.watcher = simdjson::minify(element(root["watcher"]));
  scenario.placed = root["placed"];
  for (const element node : array(root["nodes"]))
    scenario.nodes.push_back({Decoded<api::Node>(node["node"]), PodsOf(node["pods"])});
  scenario.pods = PodsOf(root["pods"]);
  for (const element of_pod : array(root["scores"])) {
    auto& scores = scenario.scores.emplace_back();
    for (const std::int64_t score : array(of_pod)) scores.push_back(score);
  }
  return scenario;
}

}  // namespace berth::replay
