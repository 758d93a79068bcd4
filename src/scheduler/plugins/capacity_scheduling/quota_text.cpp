#include "scheduler/plugins/capacity_scheduling/quota_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

constexpr std::size_t kMostSentences = 10;
constexpr std::size_t kMostBorrowers = 5;

// "b 4, c 2": the namespaces that use more of the resource than their minimum; empty: none does.
std::string Borrowers(const std::string& resource, const QuotaLedger& ledger) {
  // Negative amounts, so that the largest is first.
  std::vector<std::pair<std::int64_t, std::string>> borrowed;
  ledger.ForEachQuota([&](const std::string& ns, const Quota& quota, const QuotaAmounts& used) {
    const std::int64_t beyond = AmountOf(used, resource) - AmountOf(quota.min, resource);
    if (beyond > 0) borrowed.emplace_back(-beyond, ns);
  });
  std::ranges::sort(borrowed);
  std::vector<std::string> parts;
  for (const auto& [amount, ns] : borrowed) {
    if (parts.size() == kMostBorrowers) {
      parts.push_back(fmt::format("and {} more", borrowed.size() - kMostBorrowers));
      break;
    }
    parts.push_back(fmt::format("{} {}", ns, AmountText(resource, -amount)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What nominated pods will use; they are part of `more`.
std::string WithNominated(const std::string& resource, const QuotaAmounts& more,
                          const QuotaAmounts& request) {
  const std::int64_t nominated = AmountOf(more, resource) - AmountOf(request, resource);
  return nominated == 0 ? "" : fmt::format(", nominated pods {}", AmountText(resource, nominated));
}

}  // namespace

std::vector<std::string> DescribeExcess(const std::string& ns, const QuotaTrial& trial,
                                        const QuotaLedger& ledger) {
  const Quota& quota = *ledger.Find(ns);
  std::vector<std::string> sentences;
  const QuotaAmounts& used = ledger.UsedIn(ns);
  for (const std::string& resource :
       ExceededResources(trial.request_in_quota, used, quota.max, Quota::kUnlistedMax)) {
    if (sentences.size() == kMostSentences) break;
    sentences.push_back(fmt::format(
        "namespace {} has used {} of {} {} (maximum of ElasticQuota {}); the pod requests {}{}", ns,
        AmountText(resource, AmountOf(used, resource)), AmountText(resource, AmountOf(quota.max, resource)),
        resource, quota.name, AmountText(resource, AmountOf(trial.request, resource)),
        WithNominated(resource, trial.request_in_quota, trial.request)));
  }
  if (!sentences.empty()) return sentences;
  QuotaAmounts total = ledger.total_used();
  total += trial.request_in_total;
  for (const std::string& resource : ExceededResources(total, {}, ledger.total_min(), Quota::kUnlistedMin)) {
    if (sentences.size() == kMostSentences) break;
    const std::string borrowers = Borrowers(resource, ledger);
    sentences.push_back(fmt::format(
        "namespaces with a quota use {} of {} {} (sum of all minimums), {} {} of its minimum of {}; the pod "
        "requests "
        "{}{}{}",
        AmountText(resource, AmountOf(ledger.total_used(), resource)),
        AmountText(resource, AmountOf(ledger.total_min(), resource)), resource, ns,
        AmountText(resource, AmountOf(used, resource)), AmountText(resource, AmountOf(quota.min, resource)),
        AmountText(resource, AmountOf(trial.request, resource)),
        WithNominated(resource, trial.request_in_total, trial.request),
        borrowers.empty() ? "" : "; beyond their minimum: " + borrowers));
  }
  return sentences;
}

}  // namespace berth::plugins
