// Label and node selectors: parsing with Kubernetes' rules (v1.37), and plain evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api {

// A validated requirement.
struct Requirement {
  std::string key;
  SelectorOp op = SelectorOp::kExists;
  std::vector<std::string> values;
  std::int64_t bound = 0;  // kGt, kLt: the value as a number

  // `value` is null if the object has no such label.
  bool Matches(const std::string* value) const;
};

// A matchExpressions entry of a node selector term: operators In, NotIn, Exists, DoesNotExist, Gt, Lt.
// nullopt if it is invalid; then, if `errors` is not null, one text per error is appended, with
// kube-scheduler's texts and order, each beginning with the path of the field below `path`.
std::optional<Requirement> ParseNodeRequirement(const NodeSelectorRequirement& requirement,
                                                std::string_view path, std::vector<std::string>* errors);
// The same for a matchFields entry: In or NotIn with exactly one value, which is not validated as a label
// value.
std::optional<Requirement> ParseFieldRequirement(const NodeSelectorRequirement& requirement,
                                                 std::string_view path, std::vector<std::string>* errors);

// Joins error texts without duplicates: "[a, b]" if there are two or more.
std::string JoinErrors(const std::vector<std::string>& errors);

// The number in a label value for Gt and Lt, or nullopt: base-10 int64; sign and leading zeros are allowed.
std::optional<std::int64_t> LabelAsInteger(std::string_view value);

// Empty if the text is a valid label value; else the error in Kubernetes' words.
std::string CheckLabelValue(std::string_view value);
// The same for a label key ([prefix/]name).
std::string CheckLabelKey(std::string_view key);

// Whether the toleration tolerates the taint (v1.37; the comparison operators Lt and Gt are off, as by
// default).
bool Tolerates(const Toleration& toleration, const Taint& taint);
bool TaintStopsScheduling(const Taint& taint);  // effect NoSchedule or NoExecute

}  // namespace berth::api
