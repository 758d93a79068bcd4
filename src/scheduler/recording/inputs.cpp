#include "scheduler/recording/inputs.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/append_format.hpp"
#include "base/json_text.hpp"

namespace berth::recording {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using load_metrics::FailedPoll;
using load_metrics::PollResult;
using load_metrics::SeriesName;
using load_metrics::SignalAnswer;

Error MustBe(std::string_view member, std::string_view form) {
  return Error{ErrorCode::kInvalid, fmt::format("{}: expected {}", member, form)};
}

template <class T>
Expected<T> NumberAt(const object& from, std::string_view member, T otherwise) {
  const value* found = from.if_contains(member);
  if (found == nullptr) return otherwise;
  if (!found->is_int64() || !std::in_range<T>(found->get_int64()))
    return std::unexpected(MustBe(member, "an integer in its range"));
  return static_cast<T>(found->get_int64());
}

// An array; empty if the member is missing.
Expected<const array*> ArrayAt(const object& from, std::string_view member) {
  static const array none;
  const value* found = from.if_contains(member);
  if (found == nullptr) return &none;
  if (!found->is_array()) return std::unexpected(MustBe(member, "an array"));
  return &found->get_array();
}

Expected<std::string> TextAt(const object& from, std::string_view member) {
  const value* found = from.if_contains(member);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return std::unexpected(MustBe(member, "a string"));
  return std::string(found->get_string());
}

// --- measurements ---

void AppendSeries(std::string& out, const SeriesName& series) {
  AppendJsonList(out, series, [](std::string& list, const auto& label) {
    AppendJsonString(list, label.first);
    list += ',';
    AppendJsonString(list, label.second);
  });
}

void AppendSamples(std::string& out, const SignalAnswer& answer) {
  AppendJsonList(out, answer.samples, [](std::string& list, const auto& sample) {
    AppendFormat(list, "{},\"{}\"", sample.first, sample.second);
  });
}

Expected<SeriesName> ReadSeries(const value& from) {
  const auto* texts = from.if_array();
  if (texts == nullptr || texts->size() % 2 != 0)
    return std::unexpected(MustBe("fresh", "labels with their values"));
  SeriesName series;
  for (std::size_t i = 0; i < texts->size(); i += 2) {
    if (!(*texts)[i].is_string() || !(*texts)[i + 1].is_string())
      return std::unexpected(MustBe("fresh", "labels with their values"));
    series.emplace_back((*texts)[i].get_string(), (*texts)[i + 1].get_string());
  }
  return series;
}

Expected<load_metrics::SeriesChunk> ReadFresh(const object& from) {
  if (!from.contains("fresh")) return nullptr;
  BERTH_TRY(const array* list, ArrayAt(from, "fresh"));
  std::vector<SeriesName> fresh;
  for (const value& one : *list) {
    BERTH_TRY(SeriesName series, ReadSeries(one));
    fresh.push_back(std::move(series));
  }
  return std::make_shared<const std::vector<SeriesName>>(std::move(fresh));
}

Expected<std::vector<std::pair<std::uint32_t, double>>> ReadSamples(const object& from) {
  BERTH_TRY(const array* list, ArrayAt(from, "samples"));
  const auto invalid = [] { return std::unexpected(MustBe("samples", "numbers of series with values")); };
  if (list->size() % 2 != 0) return invalid();
  std::vector<std::pair<std::uint32_t, double>> samples;
  for (std::size_t i = 0; i < list->size(); i += 2) {
    const value &series = (*list)[i], &number = (*list)[i + 1];
    if (!series.is_int64() || !std::in_range<std::uint32_t>(series.get_int64()) || !number.is_string())
      return invalid();
    const auto text = number.get_string();
    double parsed = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (failed != std::errc{} || end != text.data() + text.size()) return invalid();
    samples.emplace_back(static_cast<std::uint32_t>(series.get_int64()), parsed);
  }
  return samples;
}

// --- groups ---

Expected<void> ReadTasks(const object& from, api::PodGroup::External& external) {
  BERTH_TRY(const array* list, ArrayAt(from, "tasks"));
  for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
    const value &task = (*list)[i], &count = (*list)[i + 1];
    if (!task.is_string() || !count.is_int64() || !std::in_range<std::int32_t>(count.get_int64()))
      return std::unexpected(MustBe("tasks", "names of tasks with counts"));
    external.task_minimums.push_back(
        {std::string(task.get_string()), static_cast<std::int32_t>(count.get_int64())});
  }
  return {};
}

Expected<void> ReadMinResources(const object& from, api::PodGroup::External& external) {
  BERTH_TRY(const array* list, ArrayAt(from, "minResources"));
  for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
    const value &name = (*list)[i], &amount = (*list)[i + 1];
    if (!name.is_string() || !amount.is_string())
      return std::unexpected(MustBe("minResources", "names of resources with quantities"));
    auto quantity = api::Quantity::Parse(amount.get_string());
    if (!quantity) return std::unexpected(std::move(quantity).error().In("minResources"));
    external.min_resources.try_emplace(std::string(name.get_string()), *std::move(quantity));
  }
  return {};
}

}  // namespace

void AppendPollResult(std::string& out, const PollResult& result) {
  JsonObject members(out);
  if (const auto* failed = std::get_if<FailedPoll>(&result)) {
    members.AddNumber("signal", static_cast<std::int64_t>(failed->signal));
    members.AddNumber("at", failed->at.time_since_epoch().count()).Add("error", failed->error);
    return;
  }
  const auto& answer = std::get<SignalAnswer>(result);
  members.AddNumber("signal", static_cast<std::int64_t>(answer.signal));
  members.AddNumber("at", answer.polled_at.time_since_epoch().count());
  if (answer.renumbered) members.AddRaw("renumbered", "true");
  if (answer.dropped_series > 0)
    members.AddNumber("dropped", static_cast<std::int64_t>(answer.dropped_series));
  if (answer.fresh != nullptr) AppendJsonList(members.Key("fresh"), *answer.fresh, AppendSeries);
  AppendSamples(members.Key("samples"), answer);
}

Expected<PollResult> ReadPollResult(const value& from) {
  const object* members = from.if_object();
  if (members == nullptr) return std::unexpected(MustBe("result", "an object"));
  BERTH_TRY(const auto number, NumberAt<std::uint32_t>(*members, "signal", 0));
  const auto signal = static_cast<load_metrics::SignalId>(number);
  BERTH_TRY(const auto at, NumberAt<std::int64_t>(*members, "at", 0));
  if (members->contains("error")) {
    BERTH_TRY(std::string error, TextAt(*members, "error"));
    return FailedPoll{signal, MonoTime(Duration(at)), std::move(error)};
  }
  SignalAnswer answer{.signal = signal,
                      .polled_at = MonoTime(Duration(at)),
                      .renumbered = members->contains("renumbered"),
                      .fresh = nullptr,
                      .samples = {}};
  BERTH_TRY(answer.dropped_series, NumberAt<std::uint32_t>(*members, "dropped", 0));
  BERTH_TRY(answer.fresh, ReadFresh(*members));
  BERTH_TRY(answer.samples, ReadSamples(*members));
  return answer;
}

cycle::Origin OriginOf(const PollResult& result) {
  auto detail = std::make_shared<std::string>();
  AppendPollResult(*detail, result);
  return {.kind = cycle::Origin::Kind::kMeasurement, .detail = std::move(detail)};
}

void AppendExternal(std::string& out, const api::PodGroup& group) {
  const api::PodGroup::External& external = *group.external;
  JsonObject members(out);
  if (group.gang) members.AddNumber("min", group.gang->min_count);
  if (!external.task_minimums.empty()) {
    AppendJsonList(members.Key("tasks"), external.task_minimums, [](std::string& list, const auto& minimum) {
      AppendJsonString(list, minimum.task);
      AppendFormat(list, ",{}", minimum.min_count);
    });
  }
  if (!external.min_resources.empty()) {
    AppendJsonList(members.Key("minResources"), external.min_resources,
                   [](std::string& list, const auto& resource) {
                     AppendJsonString(list, resource.first);
                     list += ',';
                     AppendJsonString(list, resource.second.Canonical());
                   });
  }
  if (external.permit_timeout) members.AddNumber("permitTimeout", external.permit_timeout->count());
  members.AddUnlessEmpty("invalid", external.invalid);
}

Expected<void> ReadExternal(const value& from, api::PodGroup& group) {
  const object* members = from.if_object();
  if (members == nullptr) return std::unexpected(MustBe("external", "an object"));
  if (members->contains("min")) {
    BERTH_TRY(const auto min, NumberAt<std::int32_t>(*members, "min", 0));
    group.gang = api::PodGroup::Gang{min};
  }
  api::PodGroup::External external;
  BERTH_RETURN_IF_ERROR(ReadTasks(*members, external));
  BERTH_RETURN_IF_ERROR(ReadMinResources(*members, external));
  if (members->contains("permitTimeout")) {
    BERTH_TRY(const auto timeout, NumberAt<std::int32_t>(*members, "permitTimeout", 0));
    external.permit_timeout = std::chrono::seconds(timeout);
  }
  BERTH_TRY(external.invalid, TextAt(*members, "invalid"));
  group.external = std::make_shared<const api::PodGroup::External>(std::move(external));
  return {};
}

}  // namespace berth::recording
