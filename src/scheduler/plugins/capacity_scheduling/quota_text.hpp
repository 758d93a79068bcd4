// Explanations of rejections by quotas.
#pragma once

#include <string>
#include <vector>

#include "scheduler/plugins/capacity_scheduling/quota_trial.hpp"

namespace berth::plugins {

// One sentence without a full stop per resource of which the attempt's pod would exceed the maximum of its
// namespace; if there is none, per resource of which it would exceed the sum of all minimums, with the
// namespaces that use most beyond their minimum. At most ten sentences. `ns`: the pod's, which has a quota.
std::vector<std::string> DescribeExcess(const std::string& ns, const QuotaTrial& trial,
                                        const QuotaLedger& ledger);

}  // namespace berth::plugins
