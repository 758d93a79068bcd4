// The run-time cost of function calls: cel-go's cost tracker with the estimators of its extension libraries
// and of Kubernetes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/value.hpp"

namespace berth::cel {

enum class CostRule : std::uint8_t {
  kOne,
  kSecondTraversal,  // startsWith
  kFirstTraversal,   // string(bytes)
  kFirstTraversalKubernetes,
  kFirstTraversalTwice,   // replace
  kResultTraversalTwice,  // join
  kListSize,              // in
  kSmallerTraversal,      // ==, <
  kEquality,              // ==, where values of Kubernetes' types cost 1
  kBothTraversals,        // string concatenation
  kRegex,                 // matches
  kRegexKubernetes,       // find
  kContains,
  kDeepTraversal,  // sum
  kResultList,     // slice
  kFlatten,
  kFlattenDepth,
  kSelfCompareFirst,   // sort
  kSelfCompareSecond,  // sortBy
  kSetOnce,
  kSetTwice,
  kContainsIp,
  kContainsIpString,
  kContainsCidr,
  kContainsCidrString,
  kValidate,
  kAuthorizationCheck,
};

// `overload`: the resolved overload, or empty if several match.
CostRule CostRuleOf(std::string_view function, std::string_view overload);

// `failure` is set to a text if cel-go's tracker fails ("interface conversion: ...").
std::uint64_t CallCost(CostRule rule, std::span<const Value> args, const Value& result, Budget& budget,
                       const char*& failure);

}  // namespace berth::cel
