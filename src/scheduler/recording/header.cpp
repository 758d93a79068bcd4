#include "scheduler/recording/header.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>

#include "base/json_text.hpp"

namespace berth::recording {
namespace {

constexpr std::int64_t kForm = 1;  // of the lines of a recording

// Numbers are written as texts, because JSON numbers of 64 bits are not exact in every reader.
template <class T>
bool ReadNumber(const boost::json::object& object, std::string_view key, T& out) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return false;
  const std::string_view text = value->get_string();
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

bool ReadDuration(const boost::json::object& object, std::string_view key, Duration& out) {
  std::int64_t count = 0;
  if (!ReadNumber(object, key, count)) return false;
  out = Duration(count);
  return true;
}

bool ReadText(const boost::json::object& object, std::string_view key, std::string& out) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return false;
  out = std::string(value->get_string());
  return true;
}

bool ReadBool(const boost::json::object& object, std::string_view key, bool& out) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_bool()) return false;
  out = value->get_bool();
  return true;
}

}  // namespace

std::string WriteHeader(const Header& header) {
  const cycle::SchedulerOptions& options = header.options;
  std::string out;
  JsonObject object(out);
  object.AddNumber("recording", kForm).Add("berth", header.version).Add("started", header.started);
  object.Add("seed", std::to_string(options.algorithm.seed));
  object.Add("percentageOfNodesToScore", std::to_string(options.algorithm.percentage_of_nodes_to_score));
  object.AddRaw("adaptive", options.algorithm.adaptive ? "true" : "false");
  object.Add("equivalenceCacheBytes", std::to_string(options.algorithm.equivalence_cache_bytes));
  object.Add("recordBytes", std::to_string(options.record_bytes));
  object.Add("initialBackoff", std::to_string(options.queue.initial_backoff.count()));
  object.Add("maxBackoff", std::to_string(options.queue.max_backoff.count()));
  object.Add("maxInUnschedulable", std::to_string(options.queue.max_in_unschedulable.count()));
  object.Add("measurementWait", std::to_string(options.measurement_wait.count()));
  object.Add("extenderFailures", std::to_string(header.circuit.failures));
  object.Add("extenderPause", std::to_string(header.circuit.pause.count()));
  object.AddRaw("standBy", options.stand_by ? "true" : "false");
  object.AddRaw("measures", header.measures ? "true" : "false");
  object.Add("featureGates", header.gates).Add("config", header.config);
  object.Close();
  return out;
}

Expected<Header> ReadHeader(std::string_view line) {
  boost::system::error_code failed;
  const boost::json::value parsed = boost::json::parse(line, failed);
  const auto* object = parsed.if_object();
  if (failed || object == nullptr) return Invalid("its first line is not an object of JSON");
  const boost::json::value* form = object->if_contains("recording");
  if (form == nullptr || !form->is_int64()) return Invalid("its first line has no number \"recording\"");
  if (form->get_int64() != kForm) {
    return Invalid(fmt::format("recording: the form {} is not known to this version of Berth, which reads {}",
                               form->get_int64(), kForm));
  }
  Header header;
  cycle::SchedulerOptions& options = header.options;
  const auto check = [&](std::string_view key, bool ok) -> Expected<void> {
    if (ok) return {};
    return Invalid(fmt::format("its first line has no valid member \"{}\"", key));
  };
  BERTH_RETURN_IF_ERROR(check("berth", ReadText(*object, "berth", header.version)));
  BERTH_RETURN_IF_ERROR(check("started", ReadText(*object, "started", header.started)));
  BERTH_RETURN_IF_ERROR(check("seed", ReadNumber(*object, "seed", options.algorithm.seed)));
  BERTH_RETURN_IF_ERROR(
      check("percentageOfNodesToScore",
            ReadNumber(*object, "percentageOfNodesToScore", options.algorithm.percentage_of_nodes_to_score)));
  BERTH_RETURN_IF_ERROR(check("adaptive", ReadBool(*object, "adaptive", options.algorithm.adaptive)));
  BERTH_RETURN_IF_ERROR(
      check("equivalenceCacheBytes",
            ReadNumber(*object, "equivalenceCacheBytes", options.algorithm.equivalence_cache_bytes)));
  BERTH_RETURN_IF_ERROR(check("recordBytes", ReadNumber(*object, "recordBytes", options.record_bytes)));
  BERTH_RETURN_IF_ERROR(
      check("initialBackoff", ReadDuration(*object, "initialBackoff", options.queue.initial_backoff)));
  BERTH_RETURN_IF_ERROR(check("maxBackoff", ReadDuration(*object, "maxBackoff", options.queue.max_backoff)));
  BERTH_RETURN_IF_ERROR(check(
      "maxInUnschedulable", ReadDuration(*object, "maxInUnschedulable", options.queue.max_in_unschedulable)));
  BERTH_RETURN_IF_ERROR(
      check("measurementWait", ReadDuration(*object, "measurementWait", options.measurement_wait)));
  BERTH_RETURN_IF_ERROR(
      check("extenderFailures", ReadNumber(*object, "extenderFailures", header.circuit.failures)));
  BERTH_RETURN_IF_ERROR(check("extenderPause", ReadDuration(*object, "extenderPause", header.circuit.pause)));
  BERTH_RETURN_IF_ERROR(check("standBy", ReadBool(*object, "standBy", options.stand_by)));
  BERTH_RETURN_IF_ERROR(check("measures", ReadBool(*object, "measures", header.measures)));
  BERTH_RETURN_IF_ERROR(check("featureGates", ReadText(*object, "featureGates", header.gates)));
  BERTH_RETURN_IF_ERROR(check("config", ReadText(*object, "config", header.config)));
  return header;
}

std::string GatesText(const config::FeatureGates& gates) {
  std::string text;
  gates.ForEach([&](std::string_view gate, std::string_view stage, bool on) {
    // Generally available gates cannot be switched off.
    if (gate == "AllAlpha" || gate == "AllBeta" || stage.empty()) return;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", gate, on);
  });
  return text;
}

}  // namespace berth::recording
