#include "tests/faults/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "tests/faults/disk_fault.hpp"
#include "tests/faults/extender.hpp"
#include "tests/faults/prometheus.hpp"
#include "tests/faults/workload.hpp"

namespace berth::faults {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::size_t kMaxBytes = 1U << 20;
constexpr std::int64_t kMaxMillis = 3'600'000;
constexpr std::int64_t kMaxNodes = 1'000;
constexpr std::int64_t kMaxNumber = 1'000'000;

// By StepKind.
constexpr std::string_view kKinds[] = {
    "createPods",  "createReplicaSet", "scaleReplicaSet", "deletePods",       "addNode",
    "deleteNode",  "failNode",         "cordonNode",      "taintNode",        "createGroup",
    "kill",        "terminate",        "stopProcess",     "suspend",          "partition",
    "slowNetwork", "requestFaults",    "cutWatches",      "stallWatch",       "jumpClock",
    "serverDown",  "extenderFault",    "compact",         "measurementFault", "diskFault"};

std::int64_t Millis(Duration time) { return time / milliseconds(1); }

Expected<std::int64_t> IntegerAt(const json::object& object, std::string_view field, std::int64_t least,
                                 std::int64_t most) {
  const json::value* value = object.if_contains(field);
  const std::string text = value == nullptr ? "nothing" : json::serialize(*value);
  if (value == nullptr || !value->is_int64() || value->get_int64() < least || value->get_int64() > most) {
    return Invalid(
        fmt::format("{}: invalid value {}: expected an integer from {} to {}", field, text, least, most));
  }
  return value->get_int64();
}

Expected<bool> BoolAt(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  if (value == nullptr || !value->is_bool())
    return Invalid(fmt::format("{}: invalid value {}: expected true or false", field,
                               value == nullptr ? "nothing" : json::serialize(*value)));
  return value->get_bool();
}

Expected<StepKind> KindAt(const json::object& object) {
  const json::value* value = object.if_contains("kind");
  const std::string name = value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
  const auto found = std::ranges::find(kKinds, name);
  if (found == std::end(kKinds)) {
    return Invalid(
        fmt::format("kind: invalid value \"{}\": expected one of {}", name, fmt::join(kKinds, ", ")));
  }
  return static_cast<StepKind>(found - std::begin(kKinds));
}

// The largest value of `which` and the range of `number`, as the step uses them.
struct Limits {
  std::int64_t which = kMaxNodes, least = 0, most = kMaxNumber;
};
Limits LimitsOf(StepKind kind) {
  const auto last = [](std::size_t count) { return static_cast<std::int64_t>(count) - 1; };
  if (kind == StepKind::kCreatePods || kind == StepKind::kCreateReplicaSet)
    return {.which = last(kTemplates.size()), .most = kMaxNodes};
  if (kind == StepKind::kCreateGroup) return {.which = kGroupTemplates - 1, .least = 1, .most = kMaxNodes};
  if (kind < StepKind::kKill) return {};
  Limits limits{.which = last(kReplicas)};
  if (kind == StepKind::kStallWatch) limits.most = last(std::size(kStalledResources));
  if (kind == StepKind::kRequestFaults) limits.most = (1 << kRequestFaultBits) - 1;
  if (kind == StepKind::kSlowNetwork) limits.least = 1;
  if (kind == StepKind::kExtenderFault) limits.most = kExtenderFaults;
  if (kind == StepKind::kMeasurementFault) limits.most = kMeasurementFaults;
  if (kind == StepKind::kDiskFault) limits.most = kDiskFaults;
  if (kind == StepKind::kJumpClock) limits.least = -kMaxNumber;
  return limits;
}

Expected<Step> ReadStep(const json::value& value) {
  if (!value.is_object()) return Invalid("expected an object, such as {\"kind\":\"kill\",...}");
  const json::object& object = value.get_object();
  Step step;
  BERTH_TRY(step.kind, KindAt(object));
  const Limits limits = LimitsOf(step.kind);
  BERTH_TRY(const std::int64_t index, IntegerAt(object, "index", 0, kMaxNumber));
  BERTH_TRY(const std::int64_t at, IntegerAt(object, "atMillis", 0, kMaxMillis));
  BERTH_TRY(const std::int64_t which, IntegerAt(object, "which", 0, limits.which));
  BERTH_TRY(step.number, IntegerAt(object, "number", limits.least, limits.most));
  BERTH_TRY(const std::int64_t lasts, IntegerAt(object, "lastsMillis", 0, kMaxMillis));
  step.index = static_cast<std::size_t>(index);
  step.at = milliseconds(at);
  step.which = static_cast<std::size_t>(which);
  step.lasts = milliseconds(lasts);
  return step;
}

}  // namespace

std::string WritePlan(const Plan& plan) {
  std::string text = fmt::format(
      "{{\"seed\":{},\"nodes\":{},\"calm\":{},\"groups\":{},\"extender\":{},\"measured\":{},\"recorded\":{},"
      "\n \"steps\":[",
      plan.seed, plan.nodes, plan.calm, plan.groups, static_cast<int>(plan.extender), plan.measured,
      plan.recorded);
  for (const Step& step : plan.steps) {
    text += fmt::format(
        "{}\n  "
        "{{\"index\":{},\"atMillis\":{},\"kind\":\"{}\",\"which\":{},\"number\":{},\"lastsMillis\":{}}}",
        &step == plan.steps.data() ? "" : ",", step.index, Millis(step.at),
        kKinds[static_cast<std::size_t>(step.kind)], step.which, step.number, Millis(step.lasts));
  }
  return text + "\n ]}\n";
}

Expected<Plan> ReadPlan(std::string_view text) {
  if (text.size() > kMaxBytes)
    return Invalid(fmt::format("{} bytes: expected at most {}", text.size(), kMaxBytes));
  boost::system::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !document.is_object())
    return Invalid(
        fmt::format("expected a JSON object: {}", error ? error.message() : "it has another type"));
  const json::object& root = document.get_object();
  Plan plan;
  BERTH_TRY(const std::int64_t seed, IntegerAt(root, "seed", 1, INT64_MAX));
  BERTH_TRY(const std::int64_t nodes, IntegerAt(root, "nodes", 0, kMaxNodes));
  BERTH_TRY(plan.calm, BoolAt(root, "calm"));
  BERTH_TRY(plan.groups, BoolAt(root, "groups"));
  BERTH_TRY(const std::int64_t extender, IntegerAt(root, "extender", 0, 2));
  plan.extender = static_cast<ExtenderUse>(extender);
  BERTH_TRY(plan.measured, BoolAt(root, "measured"));
  BERTH_TRY(plan.recorded, BoolAt(root, "recorded"));
  plan.seed = static_cast<std::uint64_t>(seed);
  plan.nodes = static_cast<std::size_t>(nodes);
  const json::value* steps = root.if_contains("steps");
  if (steps == nullptr || !steps->is_array()) return Invalid("steps: expected a list");
  for (const json::value& each : steps->get_array()) {
    auto step = ReadStep(each);
    if (!step)
      return std::unexpected(std::move(step).error().In(fmt::format("steps[{}]", plan.steps.size())));
    plan.steps.push_back(*step);
  }
  return plan;
}

}  // namespace berth::faults
