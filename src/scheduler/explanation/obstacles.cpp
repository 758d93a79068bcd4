#include "scheduler/explanation/obstacles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "scheduler/framework/exception_guard.hpp"

namespace berth::explanation {
namespace {

// Rows that the excluding plugin rejects by its filter, too, have that reason already.
void AddExcluded(const runtime::PreFilterOutcome& outcome, const cluster::NodeTable& nodes, Obstacles& out) {
  RowSet excluded = nodes.all();
  for (const cluster::NodeNameId name : outcome.nodes) {
    if (const cluster::Row row = nodes.Find(name); row != cluster::kNoRow) excluded.Remove(row);
  }
  for (const std::string& plugin : outcome.narrowing) excluded -= out.RejectedBy(plugin, nodes.rows());
  if (excluded.Empty()) return;
  std::vector<std::string> sorted = outcome.narrowing;
  std::ranges::sort(sorted);
  out.all.push_back({fmt::format("{}", fmt::join(sorted, ",")),
                     fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(sorted, " ")), excluded});
}

// One obstacle per reason of the call.
void AddRejections(std::string_view plugin, const framework::Rejections& rejected,
                   const cluster::NodeTable& nodes, const framework::Reasons& reasons, Obstacles& out) {
  std::map<std::string, RowSet> by_text;
  const auto add_row = [&](std::size_t row, const std::string& text) {
    if (!nodes.all().Has(row)) return;
    RowSet& rows = by_text.try_emplace(text, nodes.rows()).first->second;
    rows.Add(row);
  };
  for (const auto& [row, text] : rejected.row_reasons().rows)
    add_row(row, rejected.row_reasons().texts[text]);
  for (const auto& [row, error] : rejected.errors()) add_row(row, "error: " + error);
  for (const framework::Rejections::Entry& entry : rejected.entries()) {
    RowSet rows = entry.rows;
    rows &= nodes.all();
    if (!rows.Empty()) out.all.push_back({std::string(plugin), reasons.Text(entry.reason), std::move(rows)});
  }
  for (auto& [text, rows] : by_text) out.all.push_back({std::string(plugin), text, std::move(rows)});
}

}  // namespace

RowSet Obstacles::RejectedBy(std::string_view plugin, std::size_t rows) const {
  RowSet rejected(rows);
  for (const Obstacle& obstacle : all) {
    if (obstacle.plugin == plugin) rejected |= obstacle.rows;
  }
  return rejected;
}

Obstacles FindObstacles(const cluster::PodInfo& pod, const runtime::Profile& profile,
                        const cluster::NodeTable& nodes, const framework::Reasons& reasons) {
  Obstacles out;
  framework::CycleState state;
  framework::ScratchPool scratch;
  const framework::Attempt attempt(pod, nodes, state, scratch);
  const runtime::PreFilterOutcome outcome = profile.RunPreFilter(attempt);
  out.pre_filter = outcome.status;
  if (!outcome.status.ok()) {
    for (const framework::PreFilterPlugin* plugin : profile.pre_filters()) {
      const auto* detailed = dynamic_cast<const framework::RejectionDetailsPlugin*>(plugin);
      if (detailed != nullptr && outcome.status.rejected() && plugin->Name() == outcome.status.plugin)
        out.details = detailed->RejectionDetails(attempt, nodes.all());
    }
    return out;
  }
  framework::Rejections rejected;
  for (std::size_t i = 0; i < profile.filters().size(); ++i) {
    if (outcome.skipped_filters.Has(i)) continue;
    const framework::FilterPlugin& plugin = *profile.filters()[i];
    rejected.Reset();
    const framework::Status called = framework::CatchExceptions([&] {
      plugin.Filter(attempt, nodes.all(), rejected);
      return framework::Status();
    });
    if (!called.ok()) {
      out.all.push_back({std::string(plugin.Name()), "error: " + called.Message(), nodes.all()});
      continue;
    }
    AddRejections(plugin.Name(), rejected, nodes, reasons, out);
    const auto* detailed = dynamic_cast<const framework::RejectionDetailsPlugin*>(&plugin);
    const RowSet rows = out.RejectedBy(plugin.Name(), nodes.rows());
    if (detailed == nullptr || rows.Empty()) continue;
    for (framework::RejectionDetail& detail : detailed->RejectionDetails(attempt, rows))
      out.details.push_back(std::move(detail));
  }
  if (outcome.narrowed) AddExcluded(outcome, nodes, out);
  return out;
}

}  // namespace berth::explanation
