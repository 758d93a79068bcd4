#include "process/config_reload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/yaml.hpp"
#include "process/fake_scheduler_api.hpp"
#include "process/file_watch.hpp"

namespace berth::process {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::HasSubstr;

class IdlePlugin final : public framework::PostBindPlugin {
 public:
  std::string_view Name() const override { return "EverySecondFails"; }
  void PostBind(const framework::Placement&) override {}
};

TEST(FieldsThatNeedARestart, AreNamed) {
  struct Row {
    const char* name;
    std::function<void(config::SchedulerConfig&)> change;
    std::vector<std::string> fields;
  };
  const Row rows[] = {
      {"nothing changes", [](auto&) {}, {}},
      {"profiles can be reloaded", [](auto& config) { config.profiles[0].scheduler_name = "other"; }, {}},
      {"back-offs can be reloaded",
       [](auto& config) { config.pod_max_backoff = std::chrono::seconds(3); },
       {}},
      {"the lease",
       [](auto& config) { config.leader_election.resource_name = "other"; },
       {"leaderElection.resourceName"}},
      {"two fields",
       [](auto& config) {
         config.client_connection.kubeconfig = "/k";
         config.enable_profiling = false;
       },
       {"clientConnection.kubeconfig", "enableProfiling"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const config::SchedulerConfig before = config::DefaultSchedulerConfig();
    config::SchedulerConfig after = before;
    row.change(after);
    EXPECT_EQ(FieldsThatNeedARestart(before, after), row.fields);
  }
}

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.yaml") << "old";
  }
  ~FileWatchTest() override { std::filesystem::remove_all(folder); }

  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "file_watch_test";
};

// Each wait has a limit that the test would exceed by far if the change were not noticed.
TEST_F(FileWatchTest, NoticesAFileThatIsReplacedByRename) {
  FileWatch watch(folder / "config.yaml");
  auto waited = std::async(std::launch::async, [&] { watch.Wait(std::chrono::hours(1)); });
  std::ofstream(folder / "new") << "new";
  std::filesystem::rename(folder / "new", folder / "config.yaml");
  EXPECT_EQ(waited.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watch.Wake();
}

TEST_F(FileWatchTest, NoticesTheLinkOfAConfigMapVolume) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "volume" / "..1");
  std::ofstream(folder / "volume" / "..1" / "config.yaml") << "old";
  fs::create_directory_symlink("..1", folder / "volume" / "..data");
  fs::create_symlink("..data/config.yaml", folder / "volume" / "config.yaml");
  FileWatch watch(folder / "volume" / "config.yaml");
  auto waited = std::async(std::launch::async, [&] { watch.Wait(std::chrono::hours(1)); });
  fs::create_directory_symlink("..1", folder / "volume" / "..data_tmp");
  fs::rename(folder / "volume" / "..data_tmp", folder / "volume" / "..data");
  EXPECT_EQ(waited.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watch.Wake();
}

TEST_F(FileWatchTest, AWakeBeforeTheWaitCounts) {
  FileWatch watch("");
  watch.Wake();
  watch.Wait(std::chrono::hours(1));
}

// A scheduler with a configuration file, and its API.
class ConfigReloadTest : public ::testing::Test {
 protected:
  ConfigReloadTest() {
    std::filesystem::create_directories(folder);
    Write("");
    fake.emplace(true, file.string());
    // The configuration of the fake is that of no file: the start requests a reload, which brings that of the
    // file.
    while (!fake->reload->StateJson().contains("lastReload")) fake->run.Settle();
  }
  ~ConfigReloadTest() override {
    fake.reset();
    std::filesystem::remove_all(folder);
  }
  void Write(const std::string& rest) const {
    std::ofstream(file) << "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                        << rest;
  }
  yaml::Value Post(const std::string& path) {
    const http::Response response = fake->Get(path, {}, "POST");
    EXPECT_EQ(response.status, 200) << path << ": " << *response.body;
    last_body = *response.body;
    return yaml::ParseValue(last_body).value();
  }
  std::string Result(const std::string& path) { return Post(path).Find("result")->text; }
  std::string DigestInUse() {
    return yaml::ParseValue(*fake->Get("config").body).value().Find("sha256")->text;
  }
  std::size_t Bound() const { return fake->run.api.bindings.size(); }

  static constexpr const char* kTolerating =
      "profiles: [{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]\n";
  static constexpr const char* kPacking =
      "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
      "MostAllocated}}}]}]\n";
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "config_reload_test";
  const std::filesystem::path file = folder / "config.yaml";
  std::optional<FakeSchedulerApi> fake;
  std::string last_body;
};

TEST_F(ConfigReloadTest, AChangedFileIsUsedAndRolledBack) {
  fake->Add(MakeNode("n1").Cpu("4").Memory("4Gi").Taint("only", "", "NoSchedule").Share());
  fake->Add(MakePod("a").Uid("a").Share());
  const std::string former = DigestInUse();
  Write(kTolerating);
  EXPECT_EQ(Result("config/reload"), "applied");
  EXPECT_NE(DigestInUse(), former);
  EXPECT_EQ(Result("config/reload"), "unchanged");
  fake->run.Wait(std::chrono::seconds(2));
  EXPECT_EQ(Bound(), 1U);

  EXPECT_EQ(Result("config/rollback"), "applied");
  EXPECT_EQ(DigestInUse(), former);
  fake->Add(MakePod("b").Uid("b").Share());
  EXPECT_EQ(Bound(), 1U);
  EXPECT_EQ(Result("config/rollback"), "applied") << "the former content is now the changed one";
  fake->run.Wait(std::chrono::seconds(2));
  EXPECT_EQ(Bound(), 2U);

  Write("");
  EXPECT_EQ(Result("config/reload"), "applied") << "restoring the file rolls back, too";
  EXPECT_EQ(DigestInUse(), former);
}

TEST_F(ConfigReloadTest, FilesThatCannotBeUsedChangeNothing) {
  struct Case {
    const char* content;
    const char* result;
    const char* message;
  };
  const Case cases[] = {
      {"profiles: [", "invalid", "yaml"},
      {"kind: Pod\n", "invalid", "kind"},
      {"profilez: []\n", "invalid", "unknown field"},
      {"profiles: [{schedulerName: 5}]\n", "invalid", "schedulerName"},
      {"profiles: [{schedulerName: a}, {schedulerName: a}]\n", "invalid", "schedulerName"},
      {"profiles: [{plugins: {filter: {enabled: [{name: Missing}]}}}]\n", "invalid", "Missing"},
      {"profiles: [{plugins: {filters: {}}}]\n", "invalid", "unknown field"},
      {"profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]\n", "invalid", "ImageLocality"},
      {"profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: -1}]}}}]\n", "invalid",
       "overflow"},
      {"profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 92233720368547758}]}}}]\n",
       "invalid", "weight"},
      {"profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]\n", "invalid", "queue sort"},
      {"profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n", "invalid", "bind"},
      {"profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 1000}}]}]\n",
       "invalid", "hardPodAffinityWeight"},
      {"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Other}}}]}]\n",
       "invalid", "scoringStrategy"},
      {"profiles: [{percentageOfNodesToScore: 101}]\n", "invalid", "percentageOfNodesToScore"},
      {"percentageOfNodesToScore: -1\n", "invalid", "percentageOfNodesToScore"},
      {"podInitialBackoffSeconds: 0\n", "invalid", "podInitialBackoffSeconds"},
      {"podMaxBackoffSeconds: 0.5\n", "invalid", "podMaxBackoffSeconds"},
      {"parallelism: 0\n", "invalid", "parallelism"},
      {"extenders: [{urlPrefix: 'http://e', filterVerb: f, weight: 1}]\n", "refused", "restart"},
      {"enableProfiling: false\n", "refused", "enableProfiling"},
      {"delayCacheUntilActive: true\n", "refused", "delayCacheUntilActive"},
      {"profiles: [{plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: "
       "Coscheduling}]}}}]\n",
       "refused", "restart"},
  };
  fake->Add(MakeNode("n1").Cpu("4").Memory("4Gi").Share());
  const std::string digest = DigestInUse();
  const auto profile = fake->run.engine->profiles().front();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.content);
    Write(c.content);
    const yaml::Value report = Post("config/reload");
    EXPECT_EQ(report.Find("result")->text, c.result);
    const yaml::Value* message = report.Find("message");
    EXPECT_THAT(message == nullptr ? "" : message->text, HasSubstr(c.message));
    EXPECT_EQ(DigestInUse(), digest);
    EXPECT_EQ(fake->run.engine->profiles().front(), profile);
    EXPECT_EQ(Post("config/reload?dryRun=All").Find("result")->text, c.result);
  }
  std::filesystem::remove(file);
  EXPECT_EQ(Result("config/reload"), "invalid");
  fake->Add(MakePod("a").Uid("a").Share());
  EXPECT_EQ(Bound(), 1U);
}

TEST_F(ConfigReloadTest, TheLimitRefusesAChangeOfTooManyDecisions) {
  fake->Add(MakeNode("full").Cpu("10").Memory("10Gi").Share());
  fake->Add(MakePod("load").Uid("load").Cpu("8").Memory("8Gi").OnNode("full").Share());
  fake->Add(MakeNode("empty").Cpu("10").Memory("10Gi").Share());
  fake->Add(MakePod("web").Uid("web").Cpu("1").Memory("1Gi").Share());
  fake->Add(MakePod("big").Uid("big").Cpu("20").Share());
  const std::string digest = DigestInUse();
  fake->flags.own.reload_limit = 49;
  Write(kPacking);

  EXPECT_EQ(Result("config/reload?dryRun=All"), "previewed");
  EXPECT_THAT(last_body, HasSubstr(R"("compared":2,"changed":1,"changedPods":[{"pod":"default/web",)"
                                   R"("nodeBefore":"empty","nodeAfter":"full"}])"));
  EXPECT_EQ(DigestInUse(), digest);

  const yaml::Value refused = Post("config/reload");
  EXPECT_EQ(refused.Find("result")->text, "refused");
  EXPECT_EQ(refused.Find("message")->text,
            "1 of the last 2 decisions would differ, more than --berth-reload-limit (49 %) permits");
  EXPECT_EQ(DigestInUse(), digest);

  fake->flags.own.reload_limit = 50;
  EXPECT_EQ(Result("config/reload"), "applied");
  fake->flags.own.reload_limit = 0;
  EXPECT_EQ(Result("config/rollback"), "applied") << "without a limit";
  EXPECT_EQ(DigestInUse(), digest);
}

// A plugin that the scheduler can create, and the copy of the cluster cannot.
TEST_F(ConfigReloadTest, DecisionsThatCannotBeComparedRefuseAChangeUnlessAllMayDiffer) {
  const auto created = std::make_shared<std::atomic<int>>(0);
  runtime::Registry plugins = assembly::InTreePlugins();
  plugins.Add("EverySecondFails",
              [created](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
                if (++*created % 2 == 0) return Invalid("cannot be created");
                return std::make_unique<IdlePlugin>();
              });
  fake.emplace(true, file.string(), true, plugins);
  while (!fake->reload->StateJson().contains("lastReload")) fake->run.Settle();
  fake->Add(MakeNode("n1").Cpu("4").Memory("4Gi").Share());
  fake->Add(MakePod("a").Uid("a").Share());
  const std::string former = DigestInUse();
  fake->flags.own.reload_limit = 99;
  Write("profiles: [{plugins: {multiPoint: {enabled: [{name: EverySecondFails}]}}}]\n");
  for (const char* request : {"config/reload?dryRun=All", "config/reload"}) {
    const yaml::Value refused = Post(request);
    EXPECT_EQ(refused.Find("result")->text, "refused") << request;
    EXPECT_THAT(refused.Find("message")->text, HasSubstr("the decisions cannot be compared: "));
    EXPECT_EQ(DigestInUse(), former);
  }
  fake->flags.own.reload_limit = 100;
  EXPECT_EQ(Result("config/reload"), "applied");
  EXPECT_NE(DigestInUse(), former);
}

TEST_F(ConfigReloadTest, RequestsThatAreNotAcceptedAreExplained) {
  struct Case {
    const char* name;
    const char* path;
    const char* method;
    http::Headers headers;
    int status;
    const char* message;
  };
  const Case cases[] = {
      {"a wrong dry run", "config/reload?dryRun=Some", "POST", {}, 400, "dryRun: invalid value"},
      {"a web page", "config/reload", "POST", {{"Origin", "https://example.com"}}, 403, "web pages"},
      {"a web page that rolls back", "config/rollback", "POST", {{"Origin", "https://e"}}, 403, "web pages"},
      {"an unknown path", "config/other", "GET", {}, 404, "config/rollback"},
      {"GET of a change", "config/reload", "GET", {}, 405, "only POST is supported"},
      {"POST of a report", "config", "POST", {}, 405, "only GET is supported"},
  };
  const std::string digest = DigestInUse();
  Write(kTolerating);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const http::Response response = fake->Get(c.path, c.headers, c.method);
    EXPECT_EQ(response.status, c.status);
    EXPECT_THAT(*response.body, HasSubstr(c.message));
  }
  EXPECT_EQ(DigestInUse(), digest);
}

TEST_F(ConfigReloadTest, OneRequestAfterTheOther) {
  Write(kTolerating);
  const std::string path = std::string(kSchedulerApiRoot) + "config/reload";
  auto first = fake->Ask(path, {}, "POST");
  const http::Response second = fake->Ask(path, {}, "POST").get();
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.headers.Find("Retry-After"), "1");
  while (first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) fake->run.Settle();
  EXPECT_THAT(*first.get().body, HasSubstr("applied"));
  EXPECT_EQ(Result("config/reload"), "unchanged");
}

TEST_F(ConfigReloadTest, CancelDropsTheRequestInProgressAndLaterOnes) {
  Write(kTolerating);
  const std::string digest = DigestInUse();
  const std::string path = std::string(kSchedulerApiRoot) + "config/reload";
  const auto first = fake->Ask(path, {}, "POST");
  fake->reload->Cancel();
  fake->run.loop.DropPending();
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  const auto second = fake->Ask(path, {}, "POST");
  EXPECT_EQ(second.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  fake->run.Settle();
  EXPECT_EQ(DigestInUse(), digest);
}

TEST_F(ConfigReloadTest, NothingIsChangedUnlessEnabled) {
  Write(kTolerating);
  FakeSchedulerApi disabled(true, file.string(), false);
  for (const char* path : {"config/reload", "config/reload?dryRun=All", "config/rollback"}) {
    const http::Response response = disabled.Get(path, {}, "POST");
    EXPECT_EQ(response.status, 405) << path;
    EXPECT_THAT(*response.body, HasSubstr("--berth-api-reload")) << path;
  }
}

TEST(ConfigReload, WithoutAFileThereIsNothingToReload) {
  FakeSchedulerApi fake;
  for (const char* path : {"config/reload", "config/rollback"}) {
    const http::Response response = fake.Get(path, {}, "POST");
    EXPECT_THAT(*response.body, HasSubstr("--config is not set")) << path;
  }
}

}  // namespace
}  // namespace berth::process
