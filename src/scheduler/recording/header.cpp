#include "scheduler/recording/header.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <concepts>

#include "base/json_text.hpp"
#include "base/version.hpp"
#include "config/write_config.hpp"

namespace berth::recording {
namespace {

constexpr std::int64_t kForm = 3;  // of the lines of a recording

// Calls visit(key, member) for each member of a header.
template <class HeaderType, class Visit>
void VisitMembers(HeaderType& header, Visit&& visit) {
  auto& options = header.options;
  visit("berth", header.version);
  visit("started", header.started);
  visit("seed", options.algorithm.seed);
  visit("percentageOfNodesToScore", options.algorithm.percentage_of_nodes_to_score);
  visit("adaptive", options.algorithm.adaptive);
  visit("equivalenceCacheBytes", options.algorithm.equivalence_cache_bytes);
  visit("recordBytes", options.record_bytes);
  visit("initialBackoff", options.queue.initial_backoff);
  visit("maxBackoff", options.queue.max_backoff);
  visit("maxInUnschedulable", options.queue.max_in_unschedulable);
  visit("measurementWait", options.measurement_wait);
  visit("extenderFailures", header.circuit.failures);
  visit("extenderPause", header.circuit.pause);
  visit("standBy", options.stand_by);
  visit("featureGates", header.gates);
  visit("config", header.config);
}

// Adds the members to an object. Numbers are texts, because JSON numbers of 64 bits are not exact in every
// reader.
struct MemberWriter {
  JsonObject& object;
  void operator()(std::string_view key, const std::string& text) const { object.Add(key, text); }
  void operator()(std::string_view key, bool on) const { object.AddRaw(key, on ? "true" : "false"); }
  void operator()(std::string_view key, Duration duration) const { (*this)(key, duration.count()); }
  void operator()(std::string_view key, std::integral auto number) const {
    object.Add(key, std::to_string(number));
  }
};

// Reads the members of an object.
struct MemberReader {
  const boost::json::object& object;
  std::string invalid = {};  // the first member that is missing or has another type

  void operator()(std::string_view key, std::string& out) {
    if (const auto* text = TextAt(key)) out = *text;
  }
  void operator()(std::string_view key, bool& out) {
    const boost::json::value* value = object.if_contains(key);
    value != nullptr && value->is_bool() ? void(out = value->get_bool()) : Reject(key);
  }
  void operator()(std::string_view key, Duration& out) {
    std::int64_t count = 0;
    (*this)(key, count);
    out = Duration(count);
  }
  void operator()(std::string_view key, std::integral auto& out) {
    const boost::json::string* text = TextAt(key);
    if (text == nullptr) return;
    const char* const end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, out);
    if (parsed.ec != std::errc{} || parsed.ptr != end) Reject(key);
  }

 private:
  const boost::json::string* TextAt(std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
    if (text == nullptr) Reject(key);
    return text;
  }
  void Reject(std::string_view key) {
    if (invalid.empty()) invalid = key;
  }
};

// The first member that no configuration and no flag can have; empty: there is none.
std::string_view OutOfRange(const Header& header) {
  const auto in = [](Duration duration) {
    return duration >= Duration(0) && duration <= std::chrono::years(100);
  };
  const auto& queue = header.options.queue;
  const auto& algorithm = header.options.algorithm;
  if (algorithm.percentage_of_nodes_to_score < 0 || algorithm.percentage_of_nodes_to_score > 100)
    return "percentageOfNodesToScore";
  if (!in(queue.initial_backoff)) return "initialBackoff";
  if (!in(queue.max_backoff) || queue.max_backoff < queue.initial_backoff) return "maxBackoff";
  if (!in(queue.max_in_unschedulable)) return "maxInUnschedulable";
  if (!in(header.options.measurement_wait)) return "measurementWait";
  if (header.circuit.failures < 0) return "extenderFailures";
  if (!in(header.circuit.pause)) return "extenderPause";
  return {};
}

}  // namespace

Header HeaderOf(const config::SchedulerConfig& config, const config::ArgsCodecs& codecs,
                const cycle::SchedulerOptions& options, WallTime started) {
  return {.version = std::string(BerthVersion()),
          .started = FormatTime(started),
          .gates = GatesText(config.gates),
          .config = config::WriteConfigForLog(config, codecs),
          .options = options,
          .circuit = {}};
}

std::string WriteHeader(const Header& header) {
  std::string out;
  JsonObject object(out);
  object.AddNumber("recording", kForm);
  VisitMembers(header, MemberWriter{object});
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
  MemberReader reader{*object};
  VisitMembers(header, reader);
  if (reader.invalid.empty()) reader.invalid = OutOfRange(header);
  if (!reader.invalid.empty())
    return Invalid(fmt::format("its first line has no valid member \"{}\"", reader.invalid));
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
