#include <fmt/format.h>

#include "api/selectors.hpp"
#include "base/go_duration.hpp"
#include "plugins/dynamic_resources/dynamic_resources.hpp"

namespace berth::plugins {
namespace {

// Nothing if it is absent. `wrong` receives the text for one that is no duration.
std::optional<Duration> Read(config::StructReader& reader, std::string_view field, std::string& wrong) {
  std::string text;
  if (!reader.Has(field)) return std::nullopt;
  reader.Read(field, text);
  const auto duration = ParseGoDuration(text);
  if (!duration && wrong.empty()) wrong = fmt::format("time: invalid duration \"{}\"", text);
  return duration;
}

}  // namespace

Expected<void> CheckDynamicResourcesArgs(const framework::RawArgs& raw, const config::FeatureGates& gates) {
  if (raw.value == nullptr) return {};
  config::Problems problems;
  config::StructReader reader(*raw.value, "DynamicResourcesArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  std::string wrong;
  const auto filter_timeout = Read(reader, "filterTimeout", wrong);
  const auto binding_timeout = Read(reader, "bindingTimeout", wrong);
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());
  if (!wrong.empty()) return Invalid(wrong);
  std::vector<std::string> errors;
  if (filter_timeout && !gates.Enabled("DRASchedulerFilterTimeout")) {
    errors.push_back(fmt::format(
        "{}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled", raw.path));
  } else if (filter_timeout && *filter_timeout < Duration::zero()) {
    errors.push_back(fmt::format("{}.filterTimeout: Invalid value: \"{}\": must be zero or positive",
                                 raw.path, FormatGoDuration(*filter_timeout)));
  }
  if (binding_timeout &&
      !(gates.Enabled("DRADeviceBindingConditions") && gates.Enabled("DRAResourceClaimDeviceStatus"))) {
    errors.push_back(
        fmt::format("{}.bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                    "DRAResourceClaimDeviceStatus feature gate is disabled",
                    raw.path));
  } else if (binding_timeout && *binding_timeout < std::chrono::seconds(1)) {
    errors.push_back(fmt::format("{}.bindingTimeout: Invalid value: \"{}\": must be at least 1 second",
                                 raw.path, FormatGoDuration(*binding_timeout)));
  }
  if (errors.empty()) return {};
  return Invalid(api::JoinErrors(errors));
}

}  // namespace berth::plugins
