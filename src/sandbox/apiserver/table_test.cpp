#include "sandbox/apiserver/table.hpp"

#include <gtest/gtest.h>

#include "sandbox/apiserver/table_cells.hpp"
#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

struct AgeCase {
  std::string name;
  Duration age;
  std::string text;
};
class Ages : public testing::TestWithParam<AgeCase> {};
TEST_P(Ages, HaveKubectlsShortForm) { EXPECT_EQ(HumanAge(GetParam().age), GetParam().text); }
INSTANTIATE_TEST_SUITE_P(
    Table, Ages,
    testing::Values(AgeCase{"Seconds", 119s, "119s"}, AgeCase{"MinutesAndSeconds", 2min + 30s, "2m30s"},
                    AgeCase{"FullMinutes", 5min, "5m"}, AgeCase{"ManyMinutes", 179min, "179m"},
                    AgeCase{"HoursAndMinutes", 3h + 5min, "3h5m"}, AgeCase{"Hours", 47h, "47h"},
                    AgeCase{"DaysAndHours", 50h, "2d2h"}, AgeCase{"Days", 24h * 100, "100d"},
                    AgeCase{"YearsAndDays", 24h * 800, "2y70d"}, AgeCase{"Years", 24h * 365 * 9, "9y"},
                    AgeCase{"ManyYears", Duration::max(), "292y"}, AgeCase{"AlmostNow", -1999ms, "0s"},
                    AgeCase{"TheFuture", -2s, "<invalid>"},
                    AgeCase{"TheFarFuture", Duration::min(), "<invalid>"}),
    [](const auto& row) { return row.param.name; });

json::array Cells(TestCluster& cluster, std::string target) {
  const auto table =
      cluster.Open("GET", std::move(target), "", "", "application/json;as=Table;v=v1;g=meta.k8s.io")->Json();
  EXPECT_EQ(table.at("columnDefinitions").as_array().size(),
            table.at("rows").as_array()[0].at("cells").as_array().size());
  return table.at("rows").as_array()[0].at("cells").as_array();
}

TEST(Table, ShowsAPendingPod) {
  TestCluster cluster;
  cluster.CreatePod("a");
  cluster.clock.Advance(90s);
  EXPECT_EQ(json::serialize(Cells(cluster, "/api/v1/pods")),
            R"(["a","0/1","Pending","0","90s","<none>","<none>","<none>","<none>"])");
}

TEST(Table, ShowsGatedAndTerminatingPods) {
  TestCluster cluster;
  cluster.CreatePod("a", R"("schedulingGates":[{"name":"g"}])", R"("finalizers":["x/y"])");
  EXPECT_EQ(Cells(cluster, "/api/v1/pods")[2], json::value("SchedulingGated"));
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(Cells(cluster, "/api/v1/pods")[2], json::value("Terminating"));
}

TEST(Table, ShowsStatusAndCompletionsOfAJob) {
  const struct {
    std::string_view spec, status, shown_status, shown_completions;
  } rows[] = {
      {R"("completions":3,)", R"({"succeeded":1})", "Running", "1/3"},
      {R"("completions":0,)", "{}", "Running", "0/0"},
      {R"("parallelism":1,)", "{}", "Running", "0/1"},
      {R"("parallelism":4,)", R"({"succeeded":1})", "Running", "1/1 of 4"},
      {"", R"({"conditions":[{"type":"Suspended","status":"True"}]})", "Suspended", "0/1"},
      {"", R"({"conditions":[{"type":"Suspended","status":"False"}]})", "Running", "0/1"},
      {"", R"({"conditions":[{"type":"FailureTarget","status":"True"}]})", "FailureTarget", "0/1"},
      {"", R"({"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]})", "SuccessCriteriaMet", "0/1"},
      {"", R"({"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]})",
       "Failed", "0/1"},
      {"", R"({"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]})", "Complete", "1/1"}};
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  for (const auto& row : rows) {
    TestCluster cluster;
    cluster.Create(
        jobs,
        fmt::format(
            R"({{"metadata":{{"name":"j","finalizers":["x/y"]}},"spec":{{{}"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i"}}]}}}}}}}})",
            row.spec));
    cluster.Patch(jobs + "/j/status", fmt::format(R"({{"status":{}}})", row.status), "merge");
    auto cells = Cells(cluster, jobs);
    EXPECT_EQ(cells[1], json::value(row.shown_status)) << row.status;
    EXPECT_EQ(cells[2], json::value(row.shown_completions)) << row.spec << row.status;
    if (row.shown_status != "Running") continue;
    cluster.Do("DELETE", jobs + "/j");
    cells = Cells(cluster, jobs);
    EXPECT_EQ(cells[1], json::value("Terminating")) << row.status;
  }
}

TEST(Table, ShowsStatusAndRolesOfANode) {
  TestCluster cluster;
  cluster.CreateNode("n1", R"({"node-role.kubernetes.io/worker":"","kubernetes.io/role":"db"})");
  EXPECT_EQ(Cells(cluster, "/api/v1/nodes")[1], json::value("Unknown"));
  cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"unschedulable":true}})");
  cluster.Patch("/api/v1/nodes/n1/status", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  const auto cells = Cells(cluster, "/api/v1/nodes");
  EXPECT_EQ(cells[1], json::value("Ready,SchedulingDisabled"));
  EXPECT_EQ(cells[2], json::value("db,worker"));
}

TEST(Table, EveryKindHasAsManyCellsAsColumns) {
  TestCluster cluster;
  for (const auto& type : Resources()) {
    Document document;
    document.root()["metadata"] =
        json::object{{"name", "x"}, {"namespace", type.namespaced ? "default" : ""}};
    const auto object = MakeObject(type, document.root(), 1);
    View view;
    view.type = &type;
    EXPECT_EQ(TableRow(view, *object, cluster.clock.WallNow()).at("cells").as_array().size(),
              TableColumns(type).size())
        << type.plural;
  }
}

TEST(Table, AgesAreThoseOfTimesInAnyForm) {
  const struct {
    std::string_view created, age;
  } rows[] = {{"2026-11-21T12:00:00Z", "5m"},
              {"2026-11-21T12:00:00.250Z", "4m59s"},
              {"2026-11-21T13:30:00+01:30", "5m"},
              {"2026-11-21T04:00:00-08:00", "5m"},
              {"2026-11-21T12:05:01Z", "0s"},
              {"2026-11-21T12:05:02Z", "<invalid>"},
              {"1900-01-01T00:00:00Z", "126y"},
              {"1700-01-01T00:00:00Z", "292y"},
              {"1600-01-01T00:00:00Z", "292y"},
              {"0001-01-01T00:00:00Z", "<unknown>"},
              {"", "<unknown>"},
              {"yesterday", "<invalid>"},
              {"2026-11-21", "<invalid>"},
              {"2026-13-41T12:00:00Z", "<invalid>"},
              {"9999-12-31T23:59:59Z", "<invalid>"}};
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + 12h + 5min};
  for (const auto& row : rows) {
    Document document;
    document.root()["metadata"] = json::object{{"name", "x"}, {"creationTimestamp", row.created}};
    EXPECT_EQ(TableCells(Known().nodes, document.root(), now)[3], json::value(row.age)) << row.created;
  }
}

TEST(Table, TheDurationOfAJobEndsWithIt) {
  const struct {
    std::string_view started, ended, duration;
  } rows[] = {{"", "", ""},
              {"2026-11-21T12:00:00Z", "", "5m"},
              {"2026-11-21T12:00:00Z", "2026-11-21T12:01:30Z", "90s"},
              {"2026-11-21T12:00:00Z", "2026-11-21T11:59:59Z", "0s"},
              {"2026-11-21T12:00:00Z", "2026-11-21T11:59:50Z", "<invalid>"},
              {"1600-01-01T00:00:00Z", "", "292y"},
              {"soon", "", "<invalid>"},
              {"2026-11-21T12:00:00Z", "later", "<invalid>"}};
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + 12h + 5min};
  const ResourceType* jobs = nullptr;
  for (const ResourceType& type : Resources()) {
    if (type.plural == "jobs") jobs = &type;
  }
  for (const auto& row : rows) {
    Document document;
    document.root()["metadata"] = json::object{{"name", "x"}};
    document.root()["status"] = json::object{{"startTime", row.started}, {"completionTime", row.ended}};
    EXPECT_EQ(TableCells(*jobs, document.root(), now)[3], json::value(row.duration))
        << row.started << row.ended;
  }
}

TEST(Table, RowsContainTheRequestedPartOfTheObject) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto row = [&](std::string include) {
    return cluster
        .Open("GET", "/api/v1/pods?includeObject=" + include, "", "",
              "application/json;as=Table;v=v1;g=meta.k8s.io")
        ->Json();
  };
  EXPECT_EQ(At(row("Metadata").at("rows").as_array()[0], "object.kind"), "PartialObjectMetadata");
  EXPECT_EQ(At(row("Object").at("rows").as_array()[0], "object.kind"), "Pod");
  EXPECT_TRUE(row("None").at("rows").as_array()[0].as_object().at("object").is_null());
  EXPECT_EQ(At(row("Foo"), "code"), "400");
}

}  // namespace
}  // namespace berth::sandbox
