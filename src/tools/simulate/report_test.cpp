#include "tools/simulate/report.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <vector>

#include "tools/simulate/line_chart.hpp"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

Result Example(const std::string& configuration) {
  Result result;
  result.configuration = configuration;
  result.complete = true;
  result.simulated = 1h;
  result.resources = {"cpu", "memory"};
  result.mean_used = {0.5, 0.25};
  result.mean_fragmented = {0.1, 0};
  KindResult& kind = result.kinds.emplace_back();
  kind.name = "a<b>&\"c\"";
  kind.created = 1234;
  kind.bound = 1200;
  kind.pending = 34;
  kind.reason = "0/5 nodes are available: 5 Insufficient cpu.";
  for (int i = 0; i < 1200; ++i) kind.time_to_bind.Add(6ms);
  result.time_to_bind = kind.time_to_bind;
  for (int i = 1; i <= 3; ++i) {
    Sample& sample = result.samples.emplace_back();
    sample.at = i * 20min;
    sample.running = 400 * static_cast<std::uint64_t>(i);
    sample.nodes = 5;
    sample.used = {0.2 * i, 0.1 * i};
    sample.fragmented = {0.1, 0};
  }
  return result;
}

const ReportHead kHead{.workload = "w.yaml", .seed = 7, .duration = 1h};

TEST(ConfigNames, FilesWithTheSameLastPartHaveTheirPathsAsNames) {
  EXPECT_EQ(ConfigNames({""}), std::vector<std::string>{"default"});
  EXPECT_EQ(ConfigNames({"/etc/a.yaml", "b.yaml"}), (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_EQ(ConfigNames({"old/config.yaml", "b.yaml", "new/config.yaml"}),
            (std::vector<std::string>{"old/config.yaml", "b.yaml", "new/config.yaml"}));
}

TEST(ReportText, ConfigurationsStandSideBySideAndReasonsOfWaitingPodsAreNamed) {
  const Result results[] = {Example("spread.yaml"), Example("pack.yaml")};
  const std::string text = ReportText(kHead, results);
  for (const auto* part :
       {"Workload w.yaml: 1h00m of virtual time, seed 7", "spread.yaml", "pack.yaml", "1,234",
        "cpu requested, mean", "50.0%", "34 of a<b>&\"c\": 0/5 nodes are available"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(ReportText, AnInterruptedRunIsMarked) {
  Result results[] = {Example("default")};
  EXPECT_EQ(ReportText(kHead, results).find("Interrupted"), std::string::npos);
  results[0].complete = false;
  EXPECT_NE(ReportText(kHead, results).find("Interrupted: default ends at 1h00m"), std::string::npos);
}

TEST(ReportJson, TheSeedIsTheOneOfTheFlagInTheWholeRange) {
  const ReportHead head{.workload = "w.yaml", .seed = UINT64_MAX, .duration = 1h};
  EXPECT_EQ(boost::json::parse(ReportJson(head, {})).at("seed"), UINT64_MAX);
}

TEST(ReportJson, EveryRunHasItsTotalsKindsAndSamples) {
  const Result results[] = {Example("default")};
  const auto json = boost::json::parse(ReportJson(kHead, results));
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(run.at("created"), 1234);
  EXPECT_EQ(run.at("pending"), 34);
  EXPECT_NEAR(run.at("timeToBindSeconds").at("p99").to_number<double>(), 0.006, 1e-9);
  EXPECT_EQ(run.at("kinds").at(0).at("name"), "a<b>&\"c\"");
  EXPECT_EQ(run.at("samples").as_array().size(), 3u);
  EXPECT_NEAR(run.at("samples").at(2).at("requested").at("cpu").to_number<double>(), 0.6, 1e-9);
}

TEST(ReportText, GroupsHaveASectionIfTheWorkloadHasGroups) {
  Result results[] = {Example("default")};
  EXPECT_EQ(ReportText(kHead, results).find("time to start"), std::string::npos);
  results[0].groups.any = true;
  results[0].groups.started = 7;
  results[0].groups.mean_held = {0.25, 0};
  results[0].groups.mean_idle = {0.5, 0};
  const std::string text = ReportText(kHead, results);
  EXPECT_NE(text.find("cpu held by groups that have not started         25.0%"), std::string::npos) << text;
  const auto groups = boost::json::parse(ReportJson(kHead, results)).at("runs").at(0).at("groups");
  EXPECT_EQ(groups.at("started"), 7);
  EXPECT_NEAR(groups.at("meanFreeWhileWaiting").at("cpu").to_number<double>(), 0.5, 1e-9);
}

// The open elements at the end; an element that is closed out of order is reported.
std::vector<std::string> OpenElements(std::string_view html) {
  static const std::set<std::string> kVoid = {"meta", "!doctype"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    std::string_view tag = html.substr(at + 1, end - at - 1);
    const bool closes = tag.starts_with('/');
    if (closes) tag.remove_prefix(1);
    const std::string name(tag.substr(0, tag.find_first_of(" /")));
    if (kVoid.contains(name) || tag.ends_with('/')) continue;
    if (!closes) {
      open.push_back(name);
    } else if (!open.empty() && open.back() == name) {
      open.pop_back();
    } else {
      return {"</" + name + "> without its beginning"};
    }
  }
  return open;
}

TEST(ReportHtml, ThePageIsSelfContainedAndWellFormed) {
  const Result results[] = {Example("spread.yaml"), Example("pack.yaml")};
  const std::string html = ReportHtml(kHead, results);
  EXPECT_EQ(OpenElements(html), std::vector<std::string>());
  for (const auto* forbidden : {"<script", "http:", "https:", "src=", "url(", "@import", "a<b>"})
    EXPECT_EQ(html.find(forbidden), std::string::npos) << forbidden;
  EXPECT_NE(html.find("a&lt;b&gt;&amp;&quot;c&quot;"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = html.find("class=\"line "); at != std::string::npos;
       at = html.find("class=\"line ", at + 1))
    ++lines;
  EXPECT_EQ(lines, 2u * 10);  // ten charts with a line for each configuration
}

TEST(ChartSvg, ValuesAreScaledToTheAxis) {
  const std::string svg = ChartSvg({.title = "t", .share = true, .lines = {{"l", {{0, 0}, {10, 1}}}}});
  // From the lower left corner of the plot to the upper right one.
  EXPECT_NE(svg.find("d=\"M58.0 194.0L548.0 12.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">100%<"), std::string::npos);
}

TEST(ShowDuration, TheUnitFollowsTheLength) {
  EXPECT_EQ(ShowDuration(0s), "0");
  EXPECT_EQ(ShowDuration(350us), "350us");
  EXPECT_EQ(ShowDuration(6030us), "6.03ms");
  EXPECT_EQ(ShowDuration(12300ms), "12.3s");
  EXPECT_EQ(ShowDuration(250s), "4m10s");
  EXPECT_EQ(ShowDuration(200min), "3h20m");
  EXPECT_EQ(ShowDuration(240h), "10.0d");
}

}  // namespace
}  // namespace berth::simulate
