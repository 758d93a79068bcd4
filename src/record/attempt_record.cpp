#include "record/attempt_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace berth::record {

std::string_view ResultName(Result result) {
  static constexpr std::array<std::string_view, 5> kNames{"scheduled", "unschedulable", "error", "gated",
                                                          "ignored"};
  return kNames[static_cast<std::size_t>(result)];
}

std::int64_t AttemptRecord::Total(std::uint32_t row) const {
  std::int64_t total = base_total;
  for (const Scores& plugin : scores) {
    total += plugin.weight * (plugin.values.empty() ? plugin.uniform : plugin.values[row]);
  }
  return total;
}

std::size_t AttemptRecord::Bytes() const {
  const auto set_bytes = [](const RowSet& set) { return set.words().size_bytes(); };
  std::size_t bytes =
      sizeof(*this) + pod.size() + scheduler_name.size() + message.size() + left_out_reason.size();
  bytes +=
      set_bytes(all) + set_bytes(feasible) + set_bytes(unresolvable) + set_bytes(left_out) + set_bytes(best);
  for (const Rejection& rejection : rejections) bytes += sizeof(rejection) + set_bytes(rejection.rows);
  for (const Scores& plugin : scores) bytes += sizeof(plugin) + plugin.values.size();
  return bytes;
}

std::string FitErrorMessage(const AttemptRecord& record, const framework::Reasons& reasons) {
  const std::size_t nodes = record.all.Count();
  std::string message = fmt::format("0/{} nodes are available:", nodes);
  if (record.pre_filter) {
    std::string text;
    for (const std::string& reason : record.pre_filter->reasons) text += (text.empty() ? "" : ", ") + reason;
    return text.empty() ? message : message + " " + text + ".";
  }
  std::vector<std::pair<framework::ReasonId, std::size_t>> counts;
  for (const Rejection& rejection : record.rejections) {
    auto found =
        std::ranges::find(counts, rejection.reason, &std::pair<framework::ReasonId, std::size_t>::first);
    if (found == counts.end()) found = counts.insert(counts.end(), {rejection.reason, 0});
    found->second += rejection.rows.Count();
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, reasons.Text(reason)));
  }
  if (const std::size_t left_out = record.left_out.Count(); left_out > 0) {
    parts.push_back(fmt::format("{} {}", left_out, record.left_out_reason));
  }
  // As text, so that "10 x" comes before "2 y": that is how the original sorts.
  std::ranges::sort(parts);
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? " " : ", ") + part;
  return joined.empty() ? message : message + joined + ".";
}

}  // namespace berth::record
