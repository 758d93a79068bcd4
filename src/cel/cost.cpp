#include "cel/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cel/library/format_object.hpp"

namespace berth::cel {
namespace {

constexpr double kTraversal = 0.1;  // per code point or byte
constexpr double kRegexLength = 0.25;
constexpr std::uint64_t kListCreation = 10;
constexpr std::uint64_t kAuthorizationCheckCost = 350'000;

struct NamedRule {
  std::string_view name;
  CostRule rule;
};

// By overload, before the rules by function.
constexpr std::array kExtensionRules = {
    NamedRule{"list_slice", CostRule::kResultList},
    NamedRule{"lists_range", CostRule::kResultList},
    NamedRule{"list_reverse", CostRule::kResultList},
    NamedRule{"list_flatten", CostRule::kFlatten},
    NamedRule{"list_flatten_int", CostRule::kFlattenDepth},
    NamedRule{"list_distinct", CostRule::kSelfCompareFirst},
    NamedRule{"list_sets_contains_list", CostRule::kSetOnce},
    NamedRule{"list_sets_intersects_list", CostRule::kSetOnce},
    NamedRule{"list_sets_equivalent_list", CostRule::kSetTwice},
};

// By function, as Kubernetes' estimator decides.
constexpr std::array kKubernetesRules = {
    NamedRule{"check", CostRule::kAuthorizationCheck},
    NamedRule{"isSorted", CostRule::kDeepTraversal},
    NamedRule{"sum", CostRule::kDeepTraversal},
    NamedRule{"max", CostRule::kDeepTraversal},
    NamedRule{"min", CostRule::kDeepTraversal},
    NamedRule{"indexOf", CostRule::kDeepTraversal},
    NamedRule{"lastIndexOf", CostRule::kDeepTraversal},
    NamedRule{"includes", CostRule::kDeepTraversal},
    NamedRule{"url", CostRule::kFirstTraversalKubernetes},
    NamedRule{"lowerAscii", CostRule::kFirstTraversalKubernetes},
    NamedRule{"upperAscii", CostRule::kFirstTraversalKubernetes},
    NamedRule{"substring", CostRule::kFirstTraversalKubernetes},
    NamedRule{"trim", CostRule::kFirstTraversalKubernetes},
    NamedRule{"replace", CostRule::kFirstTraversalTwice},
    NamedRule{"split", CostRule::kFirstTraversalTwice},
    NamedRule{"join", CostRule::kResultTraversalTwice},
    NamedRule{"find", CostRule::kRegexKubernetes},
    NamedRule{"findAll", CostRule::kRegexKubernetes},
    NamedRule{"cidr", CostRule::kFirstTraversalKubernetes},
    NamedRule{"isIP", CostRule::kFirstTraversalKubernetes},
    NamedRule{"isCIDR", CostRule::kFirstTraversalKubernetes},
    NamedRule{"ip", CostRule::kFirstTraversalKubernetes},
    NamedRule{"ip.isCanonical", CostRule::kFirstTraversalTwice},
    NamedRule{"quantity", CostRule::kFirstTraversalKubernetes},
    NamedRule{"isQuantity", CostRule::kFirstTraversalKubernetes},
    NamedRule{"semver", CostRule::kFirstTraversalKubernetes},
    NamedRule{"isSemver", CostRule::kFirstTraversalKubernetes},
    NamedRule{"validate", CostRule::kValidate},
    NamedRule{"_==_", CostRule::kEquality},
};

// By overload, for everything else.
constexpr std::array kStandardRules = {
    NamedRule{"starts_with_string", CostRule::kSecondTraversal},
    NamedRule{"ends_with_string", CostRule::kSecondTraversal},
    NamedRule{"string_to_bytes", CostRule::kFirstTraversal},
    NamedRule{"bytes_to_string", CostRule::kFirstTraversal},
    NamedRule{"strings_quote", CostRule::kFirstTraversal},
    NamedRule{"string_format", CostRule::kFirstTraversal},
    NamedRule{"in_list", CostRule::kListSize},
    NamedRule{"less_string", CostRule::kSmallerTraversal},
    NamedRule{"greater_string", CostRule::kSmallerTraversal},
    NamedRule{"less_equals_string", CostRule::kSmallerTraversal},
    NamedRule{"greater_equals_string", CostRule::kSmallerTraversal},
    NamedRule{"less_bytes", CostRule::kSmallerTraversal},
    NamedRule{"greater_bytes", CostRule::kSmallerTraversal},
    NamedRule{"less_equals_bytes", CostRule::kSmallerTraversal},
    NamedRule{"greater_equals_bytes", CostRule::kSmallerTraversal},
    NamedRule{"not_equals", CostRule::kSmallerTraversal},
    NamedRule{"add_string", CostRule::kBothTraversals},
    NamedRule{"add_bytes", CostRule::kBothTraversals},
    NamedRule{"matches", CostRule::kRegex},
    NamedRule{"matches_string", CostRule::kRegex},
    NamedRule{"contains_string", CostRule::kContains},
};

template <std::size_t size>
const CostRule* RuleNamed(const std::array<NamedRule, size>& rules, std::string_view name) {
  for (const NamedRule& rule : rules) {
    if (rule.name == name) return &rule.rule;
  }
  return nullptr;
}

std::uint64_t Ceil(double cost) { return static_cast<std::uint64_t>(std::ceil(cost)); }
std::uint64_t Traversal(std::uint64_t size) { return Ceil(static_cast<double>(size) * kTraversal); }
std::uint64_t TwoTraversals(std::uint64_t size) { return Ceil(static_cast<double>(size) * 2 * kTraversal); }

// cel-go's tracker also looks into optional values.
std::uint64_t SizeWithin(const Value& value) {
  if (value.kind() == ValueKind::kOptional && !value.optional().IsAbsent())
    return SizeWithin(value.optional());
  return SizeForCost(value);
}

std::uint64_t RegexCost(std::uint64_t text, std::uint64_t pattern) {
  return Ceil((1.0 + static_cast<double>(text)) * kTraversal) *
         Ceil(static_cast<double>(pattern) * kRegexLength);
}

// The sum over everything within the value.
std::uint64_t DeepTraversal(const Value& value, Budget& budget) {
  if (!budget.Spend(1)) return 0;
  switch (value.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.text().size()) * kTraversal);
    case ValueKind::kList: {
      std::uint64_t cost = 0;
      for (std::int64_t i = 0; i < value.list().size && !budget.exhausted(); ++i) {
        cost += DeepTraversal(value.list().At(i), budget);
      }
      return cost;
    }
    case ValueKind::kMap: {
      std::uint64_t cost = 0;
      for (const auto& [key, element] : value.map().entries) {
        cost += DeepTraversal(key, budget) + DeepTraversal(element, budget);
      }
      return cost;
    }
    default:
      return 1;
  }
}

std::uint64_t Saturated(double cost) {
  return cost >= 1.8446744073709552e19 ? std::numeric_limits<std::uint64_t>::max()
                                       : static_cast<std::uint64_t>(cost);
}

std::uint64_t ListCall(double factor, std::uint64_t size) {
  const std::uint64_t cost = Saturated(static_cast<double>(size) * (factor < 0 ? 1.0 : factor));
  return cost > std::numeric_limits<std::uint64_t>::max() - kListCreation - 1
             ? std::numeric_limits<std::uint64_t>::max()
             : cost + 1 + kListCreation;
}

constexpr const char* kNotAList = "interface conversion: *types.Err is not traits.Lister: missing method Add";

std::uint64_t SelfCompare(const Value& list, const char*& failure) {
  if (list.kind() != ValueKind::kList) {
    failure = kNotAList;
    return 0;
  }
  const std::uint64_t size = SizeForCost(list);
  double factor = 2;
  if (size > 0) {
    const ValueKind first = list.list().At(0).kind();
    if (first == ValueKind::kString || first == ValueKind::kBytes) factor += kTraversal;
  }
  std::uint64_t squared = 0;
  if (__builtin_mul_overflow(size, size, &squared)) squared = std::numeric_limits<std::uint64_t>::max();
  return ListCall(factor, squared);
}

std::uint64_t ValidateCost(std::span<const Value> args) {
  const FormatObject* format = FormatOf(args[0]);
  if (format == nullptr) return 1;
  return RegexCost(SizeForCost(args[1]), static_cast<std::uint64_t>(format->regex_size));
}

}  // namespace

CostRule CostRuleOf(std::string_view function, std::string_view overload) {
  if (const CostRule* rule = RuleNamed(kExtensionRules, overload)) return *rule;
  if (overload.starts_with("list_")) {
    if (overload.ends_with("_sort")) return CostRule::kSelfCompareFirst;
    if (overload.ends_with("_sortByAssociatedKeys")) return CostRule::kSelfCompareSecond;
  }
  if (overload == "cidr_ip") return CostRule::kOne;
  if (function == "containsIP") {
    return overload == "cidr_contains_ip_string" ? CostRule::kContainsIpString : CostRule::kContainsIp;
  }
  if (function == "containsCIDR") {
    return overload == "cidr_contains_cidr_string" ? CostRule::kContainsCidrString : CostRule::kContainsCidr;
  }
  if (const CostRule* rule = RuleNamed(kKubernetesRules, function)) return *rule;
  const CostRule* rule = RuleNamed(kStandardRules, overload);
  return rule == nullptr ? CostRule::kOne : *rule;
}

std::uint64_t CallCost(CostRule rule, std::span<const Value> args, const Value& result, Budget& budget,
                       const char*& failure) {
  const auto size = [&](std::size_t i) { return SizeForCost(args[i]); };
  switch (rule) {
    case CostRule::kOne:
      return 1;
    case CostRule::kSecondTraversal:
      return Traversal(SizeWithin(args[1]));
    case CostRule::kFirstTraversal:
      return Traversal(SizeWithin(args[0]));
    case CostRule::kFirstTraversalKubernetes:
      return Traversal(size(0));
    case CostRule::kFirstTraversalTwice:
      return TwoTraversals(size(0));
    case CostRule::kResultTraversalTwice:
      return TwoTraversals(SizeForCost(result));
    case CostRule::kListSize:
      return SizeWithin(args[1]);
    case CostRule::kEquality:
      if (args[0].kind() == ValueKind::kOpaque) return 1;
      [[fallthrough]];
    case CostRule::kSmallerTraversal:
      return Traversal(std::min(SizeWithin(args[0]), SizeWithin(args[1])));
    case CostRule::kBothTraversals:
      return Traversal(SizeWithin(args[0]) + SizeWithin(args[1]));
    case CostRule::kRegex:
      return RegexCost(SizeWithin(args[0]), SizeWithin(args[1]));
    case CostRule::kRegexKubernetes:
      return RegexCost(size(0), size(1));
    case CostRule::kContains:
      return Traversal(SizeWithin(args[0])) * Traversal(SizeWithin(args[1]));
    case CostRule::kDeepTraversal:
      return DeepTraversal(args[0], budget);
    case CostRule::kResultList:
      return ListCall(1, SizeForCost(result));
    case CostRule::kFlatten:
      return ListCall(1, size(0));
    case CostRule::kFlattenDepth:
      if (args[1].kind() != ValueKind::kInt) {
        failure = "interface conversion: ref.Val is *types.Err, not types.Int";
        return 0;
      }
      return ListCall(static_cast<double>(args[1].as_int()), size(0));
    case CostRule::kSelfCompareFirst:
      return SelfCompare(args[0], failure);
    case CostRule::kSelfCompareSecond:
      return SelfCompare(args[1], failure);
    case CostRule::kSetOnce:
      return 1 + Saturated(static_cast<double>(size(0) * size(1)));
    case CostRule::kSetTwice:
      return 1 + Saturated(static_cast<double>(size(0) * size(1)) * 2);
    case CostRule::kContainsIp:
      return TwoTraversals(size(0));
    case CostRule::kContainsIpString:
      return TwoTraversals(size(0)) + Traversal(size(1));
    case CostRule::kContainsCidr:
      return TwoTraversals(size(0)) + Traversal(size(0)) + 1;
    case CostRule::kContainsCidrString:
      return TwoTraversals(size(0)) + Traversal(size(0)) + 1 + Traversal(size(1));
    case CostRule::kValidate:
      return ValidateCost(args);
    case CostRule::kAuthorizationCheck:
      return kAuthorizationCheckCost;
  }
  return 1;
}

}  // namespace berth::cel
