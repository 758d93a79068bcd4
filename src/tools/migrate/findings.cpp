#include "tools/migrate/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/append_format.hpp"
#include "base/text_layout.hpp"

namespace berth::migrate {
namespace {

constexpr Topic kTopics[] = {Topic::kServer,    Topic::kConfiguration, Topic::kExtenders,
                             Topic::kWorkloads, Topic::kPermissions,   Topic::kSize};
constexpr std::size_t kWidth = 108;
constexpr std::size_t kIndent = 11;  // "  blocker  "

void Append(std::string& out, const Finding& finding) {
  AppendFormat(out, "  {:<7}  ", LevelName(finding.level));
  std::string text = finding.what;
  if (!finding.names.empty())
    text += fmt::format(": {}{}", fmt::join(finding.names, ", "),
                        finding.count > finding.names.size() ? ", ..." : "");
  AppendWrapped(out, text, kIndent, kWidth);
  out += '\n';
  if (finding.remedy.empty()) return;
  out += std::string(kIndent, ' ');
  AppendWrapped(out, "-> " + finding.remedy, kIndent, kWidth);
  out += '\n';
}

}  // namespace

std::string_view LevelName(Level level) {
  constexpr std::string_view kNames[] = {"ok", "note", "warning", "blocker"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string_view TopicName(Topic topic) {
  constexpr std::string_view kNames[] = {"server",    "configuration", "extenders",
                                         "workloads", "permissions",   "size"};
  return kNames[static_cast<std::size_t>(topic)];
}

Finding About(const Tally& tally, Level level, Topic topic, std::string what, std::string remedy) {
  return {level, topic, std::move(what), std::move(remedy), tally.names(), tally.count()};
}

Verdict Evaluate(const Findings& findings) {
  const auto of = [&](Level level) {
    return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
  };
  return {of(Level::kOk), of(Level::kNote), of(Level::kWarning), of(Level::kBlocker),
          std::ranges::any_of(findings, &Finding::unseen)};
}

std::string ToText(const Findings& findings, std::string_view server) {
  std::string out = fmt::format("{}\n", server);
  for (const Topic topic : kTopics) {
    std::vector<const Finding*> of_topic;
    for (const Finding& finding : findings)
      if (finding.topic == topic) of_topic.push_back(&finding);
    if (of_topic.empty()) continue;
    std::ranges::stable_sort(of_topic, std::greater(), &Finding::level);
    out += fmt::format("\n{}\n", TopicName(topic));
    for (const Finding* finding : of_topic) Append(out, *finding);
  }
  const Verdict verdict = Evaluate(findings);
  out += fmt::format("\n{} ok, {}, {}, {}: {}\n", verdict.ok, Counted(verdict.notes, "note"),
                     Counted(verdict.warnings, "warning"), Counted(verdict.blockers, "blocker"),
                     verdict.blockers > 0   ? "not ready for Berth"
                     : verdict.unseen       ? "the check was incomplete, no result"
                     : verdict.warnings > 0 ? "ready for Berth after a review of the warnings"
                                            : "ready for Berth");
  return out;
}

std::string ToJson(const Findings& findings, std::string_view server) {
  namespace json = boost::json;
  json::array all;
  for (const Finding& finding : findings) {
    json::object one{
        {"level", LevelName(finding.level)}, {"topic", TopicName(finding.topic)}, {"what", finding.what}};
    if (!finding.remedy.empty()) one["remedy"] = finding.remedy;
    if (finding.count > 0) {
      one["count"] = finding.count;
      one["names"] = json::array(finding.names.begin(), finding.names.end());
    }
    all.push_back(std::move(one));
  }
  const Verdict verdict = Evaluate(findings);
  return json::serialize(json::object{{"server", server},
                                      {"findings", std::move(all)},
                                      {"ok", verdict.ok},
                                      {"notes", verdict.notes},
                                      {"warnings", verdict.warnings},
                                      {"blockers", verdict.blockers},
                                      {"exitCode", verdict.exit_code()}}) +
         "\n";
}

}  // namespace berth::migrate
