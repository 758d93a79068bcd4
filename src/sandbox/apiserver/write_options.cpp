// The query parameters of writes.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {
namespace {

std::string_view OptionsKind(const ApiRequest& request) {
  if (request.method == "PATCH") return "PatchOptions";
  return request.method == "PUT" ? "UpdateOptions" : "CreateOptions";
}

// fieldManager, or the product name of the user agent.
std::string ManagerOf(const ApiRequest& request) {
  const auto given = request.query.Get("fieldManager");
  if (!given.empty()) return ToUtf8(given);
  const std::string_view agent = request.user_agent;
  return ToUtf8(agent.substr(0, std::min(agent.find('/'), std::size_t{128})));
}

void CheckManager(std::string_view manager, std::vector<ErrorCause>& causes) {
  constexpr std::size_t kLongest = 128;
  if (manager.size() > kLongest) {
    causes.push_back({"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", kLongest),
                      "fieldManager"});
  }
  const auto printable = [](unsigned char c) { return c >= 0x20 && c != 0x7f; };
  if (!std::ranges::all_of(manager, printable)) {
    causes.push_back(InvalidValue("fieldManager", json::serialize(json::value(manager)),
                                  "should only contain printable characters"));
  }
}

}  // namespace

ApiResult<WriteOptions> DecodeWriteOptions(const ApiRequest& request, std::optional<PatchType> patch,
                                           std::vector<std::string>& warnings) {
  const Query& query = request.query;
  WriteOptions options;
  std::vector<ErrorCause> causes;
  if (patch && *patch != PatchType::kApply && query.Has("force"))
    causes.push_back(FieldForbidden("force", "may not be specified for non-apply patch"));
  if (patch == PatchType::kApply && query.Get("fieldManager").empty())
    causes.push_back(Required("fieldManager", "is required for apply patch"));
  CheckManager(query.Get("fieldManager"), causes);
  const auto dry_run = query.Get("dryRun");
  if (query.Has("dryRun") && dry_run != "All")
    causes.push_back({"FieldValueNotSupported",
                      fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", dry_run),
                      "dryRun"});
  const auto validation = query.Get("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" && validation != "Strict") {
    causes.push_back(NotSupported("fieldValidation", validation, "\"\", \"Ignore\", \"Strict\", \"Warn\""));
  }
  if (!causes.empty()) return InvalidObject("meta.k8s.io", OptionsKind(request), "", std::move(causes));
  options.dry_run = request.dry_run();
  options.manager = ManagerOf(request);
  if (options.manager.empty()) options.manager = "unknown";
  options.force = query.Flag("force");
  options.validation = validation == "Ignore"   ? FieldValidation::kIgnore
                       : validation == "Strict" ? FieldValidation::kStrict
                                                : FieldValidation::kWarn;
  options.warnings = &warnings;
  options.subresource = request.subresource;
  return options;
}

}  // namespace berth::sandbox
