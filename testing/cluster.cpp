#include "testing/cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <stdexcept>

namespace berth::testing {

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << fmt::format("{} {}", framework::CodeName(verdict.code), verdict.reasons);
}

Verdict Unschedulable(std::vector<std::string> reasons) {
  return {framework::Code::kUnschedulable, std::move(reasons)};
}
Verdict Unresolvable(std::vector<std::string> reasons) {
  return {framework::Code::kUnschedulableAndUnresolvable, std::move(reasons)};
}

Cluster& Cluster::Add(const api::Node& node) {
  table_.Add(std::make_shared<const api::Node>(node));
  return *this;
}

Cluster& Cluster::Run(const std::string& node, const api::Pod& pod) {
  const cluster::Row row = RowOf(node);
  if (row == cluster::kNoRow) throw std::invalid_argument("no node " + node);
  cluster::PlacedPod& placed = placed_.emplace_back();
  placed.pod = std::make_shared<const api::Pod>(pod);
  placed.takes = cluster::UseOf(pod, symbols_);
  table_.AddPod(row, placed);
  return *this;
}

framework::PreFilterResult Cluster::PreFilter(const framework::PreFilterPlugin& plugin, const api::Pod& pod) {
  const cluster::PodInfo info = Prepare(pod);
  return plugin.PreFilter(framework::Attempt(info, table_, state_, scratch_));
}

Verdicts Cluster::Filter(const framework::FilterPlugin& plugin, const api::Pod& pod) {
  return VerdictsOf(&plugin, Prepare(pod));
}

Verdicts Cluster::VerdictsOf(const framework::FilterPlugin* plugin, const cluster::PodInfo& pod) {
  framework::Rejections answer;
  if (plugin != nullptr)
    plugin->Filter(framework::Attempt(pod, table_, state_, scratch_), table_.all(), answer);
  Verdicts verdicts;
  table_.all().ForEach([&](std::size_t row) { verdicts[table_.name(static_cast<cluster::Row>(row))] = {}; });
  for (const framework::Rejections::Entry& entry : answer.entries()) {
    entry.rows.ForEach([&](std::size_t row) {
      if (!table_.all().Has(row)) return;
      Verdict& verdict = verdicts[table_.name(static_cast<cluster::Row>(row))];
      verdict.code = answer.unresolvable().Has(row) ? framework::Code::kUnschedulableAndUnresolvable
                                                    : framework::Code::kUnschedulable;
      verdict.reasons.push_back(reasons_.Text(entry.reason));
    });
  }
  for (const auto& [row, text] : answer.row_reasons().rows) {
    Verdict& verdict = verdicts[table_.name(row)];
    verdict.code = answer.unresolvable().Has(row) ? framework::Code::kUnschedulableAndUnresolvable
                                                  : framework::Code::kUnschedulable;
    verdict.reasons.push_back(answer.row_reasons().texts[text]);
  }
  for (const auto& [row, what] : answer.errors())
    verdicts[table_.name(row)] = {framework::Code::kError, {what}};
  return verdicts;
}

framework::Status Cluster::PreScore(const framework::PreScorePlugin& plugin, const api::Pod& pod) {
  const cluster::PodInfo info = Prepare(pod);
  return plugin.PreScore(framework::Attempt(info, table_, state_, scratch_), table_.all());
}

NodeScores Cluster::RawScores(const framework::ScorePlugin& plugin, const api::Pod& pod) {
  return ScoresOf(plugin, Prepare(pod), false);
}
NodeScores Cluster::Scores(const framework::ScorePlugin& plugin, const api::Pod& pod) {
  return ScoresOf(plugin, Prepare(pod), true);
}

NodeScores Cluster::ScoresOf(const framework::ScorePlugin& plugin, const cluster::PodInfo& pod,
                             bool normalize) {
  const framework::Attempt attempt(pod, table_, state_, scratch_);
  framework::ScoreColumn column;
  column.Reset(table_.rows());
  framework::Status status = plugin.Score(attempt, table_.all(), column);
  if (status.ok() && normalize) status = plugin.Normalize(attempt, table_.all(), column);
  if (!status.ok()) throw std::runtime_error(status.Message());
  NodeScores scores;
  table_.all().ForEach(
      [&](std::size_t row) { scores[table_.name(static_cast<cluster::Row>(row))] = column.At(row); });
  return scores;
}

}  // namespace berth::testing
