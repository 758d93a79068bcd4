#include "process/reload_report.hpp"

#include <utility>

#include "base/json_text.hpp"

namespace berth::process {
namespace {

void AddPreview(JsonObject& object, const evaluation::PreviewReport& report) {
  JsonObject preview(object.Key("preview"));
  preview.AddNumber("compared", static_cast<std::int64_t>(report.compared));
  preview.AddNumber("changed", static_cast<std::int64_t>(report.changed));
  AppendJsonList(preview.Key("changedPods"), report.examples,
                 [](std::string& out, const evaluation::ChangedDecision& changed) {
                   JsonObject one(out);
                   one.Add("pod", changed.pod);
                   one.AddUnlessEmpty("nodeBefore", changed.before);
                   one.AddUnlessEmpty("nodeAfter", changed.after);
                 });
  preview.AddUnlessEmpty("leftOut", report.left_out);
}

}  // namespace

std::string_view ReloadResultName(ReloadResult result) {
  switch (result) {
    case ReloadResult::kApplied:
      return "applied";
    case ReloadResult::kUnchanged:
      return "unchanged";
    case ReloadResult::kInvalid:
      return "invalid";
    case ReloadResult::kRefused:
      return "refused";
    case ReloadResult::kPreviewed:
      return "previewed";
  }
  std::unreachable();
}

std::string ReloadJson(const ReloadReport& report) {
  std::string text;
  {
    JsonObject object(text);
    object.Add("result", ReloadResultName(report.result));
    object.Add("at", FormatMicroTime(report.at));
    object.AddUnlessEmpty("message", report.message);
    if (report.preview) AddPreview(object, *report.preview);
  }
  return text;
}

}  // namespace berth::process
