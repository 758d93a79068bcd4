// Arguments of NodeCost.
//
//   priceLabel: example.com/price-per-hour       # the label's value is the price
//   prices:                                      # prices by the value of a label, for nodes without one
//   - label: node.kubernetes.io/instance-type
//     values: {m5.large: 0.096, m5.xlarge: 0.192}
//   factors:                                     # multiply the price
//   - label: karpenter.sh/capacity-type
//     values: {spot: 0.35}
//   per: cpu                                     # price per core
//   amount: free                                 # of the cores that are not requested
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct NodeCostArgs {
  struct LabelPrices {
    std::string label;
    std::map<std::string, double> values;  // by the label's value
  };
  enum class Per { kNode, kCpu, kMemory };  // the price of a node, of a core, of a GiB
  enum class Amount { kAllocatable, kFree };

  std::string price_label;           // empty: none
  std::vector<LabelPrices> prices;   // the first that contains the node's value counts
  std::vector<LabelPrices> factors;  // all that contain the node's value count
  Per per = Per::kNode;
  Amount amount = Amount::kAllocatable;
};

// Prices and factors are at least 0 and at most this number.
inline constexpr double kHighestPrice = 1e9;
// The price as written in a label or in the arguments: a decimal number from 0 to kHighestPrice; nullopt for
// other texts.
std::optional<double> ParsePrice(std::string_view text);

Expected<NodeCostArgs> ParseNodeCostArgs(const framework::RawArgs& raw);
config::ArgsCodec NodeCostArgsCodec();

}  // namespace berth::plugins
