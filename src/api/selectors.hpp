// Label and node selectors: parsing with Kubernetes' rules (v1.37), and plain evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/objects.hpp"
#include "base/result.hpp"

namespace berth::api {

enum class SelectorOp : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

// A requirement that passed all checks.
struct Requirement {
  std::string key;
  SelectorOp op = SelectorOp::kExists;
  std::vector<std::string> values;
  std::int64_t bound = 0;  // kGt, kLt: the value as a number

  // value is null if the object has no such label.
  bool Matches(const std::string* value) const;
};

// A matchExpressions entry of a node selector term: operators In, NotIn, Exists, DoesNotExist, Gt, Lt. The error says
// what kube-scheduler says.
Expected<Requirement> ParseNodeRequirement(const NodeSelectorRequirement& requirement);
// A matchFields entry: In or NotIn with exactly one value; any key other than metadata.name reads as empty text.
Expected<Requirement> ParseFieldRequirement(const NodeSelectorRequirement& requirement);

// The number a label holds for Gt and Lt, or nothing: plain base-10 int64, sign and leading zeros allowed.
std::optional<std::int64_t> LabelAsInteger(std::string_view value);

// Empty if the text is a valid label value; else what is wrong.
std::string CheckLabelValue(std::string_view value);
// Empty if the text is a qualified name ([prefix/]name); else what is wrong.
std::string CheckQualifiedName(std::string_view name);

// Does the toleration cover the taint (v1.37 with the comparison operators Lt and Gt off, as by default)?
bool Tolerates(const Toleration& toleration, const Taint& taint);
bool TaintStopsScheduling(const Taint& taint);  // effect NoSchedule or NoExecute

}  // namespace berth::api
