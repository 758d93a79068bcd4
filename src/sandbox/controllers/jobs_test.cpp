// Jobs and CronJobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sandbox/cluster/fake_live_cluster.hpp"
#include "sandbox/cluster/persistence/load.hpp"
#include "sandbox/controllers/job/job.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBatch = "/apis/batch/v1";

std::string Job(std::string_view more, std::string_view command, std::string_view restart = "Never") {
  return fmt::format(
      R"({{"metadata":{{"name":"j"}},"spec":{{{}"template":{{"spec":{{"restartPolicy":"{}","containers":[{{"name":"c","image":"i","command":["sh","-c","{}"]}}]}}}}}}}})",
      more, restart, command);
}

struct JobTest : testing::Test {
  LiveCluster cluster;
  JobTest() { cluster.CreateNodes(3); }
  json::value Read() { return cluster.Read(kBatch, "jobs", "j"); }
};

TEST_F(JobTest, CompletesWhenItsPodsHaveSucceeded) {
  cluster.Make(kBatch, "jobs", Job(R"("completions":3,"parallelism":2,)", "sleep 10"));
  cluster.Pass(5s);
  EXPECT_EQ(At(Read(), "status.active"), "2");
  EXPECT_EQ(At(Read(), "status.ready"), "2");
  cluster.Pass(30s);
  const auto job = Read();
  EXPECT_EQ(At(job, "status.succeeded"), "3");
  EXPECT_EQ(At(job, "status.active"), "");
  EXPECT_EQ(LiveCluster::ConditionOf(job, "Complete"), "True:CompletionsReached");
  EXPECT_EQ(LiveCluster::ConditionOf(job, "SuccessCriteriaMet"), "True:CompletionsReached");
  EXPECT_NE(At(job, "status.completionTime"), "");
  EXPECT_EQ(cluster.PodCount(), 3U);
  // No finished pod keeps its tracking finalizer.
  for (const auto& [_, pod] : cluster.store.All(Known().pods))
    EXPECT_EQ(pod->text.find("job-tracking"), std::string::npos);
}

TEST_F(JobTest, FailsBeyondItsBackoffLimitWithIncreasingDelays) {
  cluster.Make(kBatch, "jobs", Job(R"("backoffLimit":2,)", "exit 3"));
  cluster.Pass(5s);
  EXPECT_EQ(At(Read(), "status.failed"), "1");
  cluster.Pass(10s);
  EXPECT_EQ(At(Read(), "status.failed"), "2");
  cluster.Pass(10s);
  EXPECT_EQ(At(Read(), "status.failed"), "2");
  cluster.Pass(20s);
  EXPECT_EQ(At(Read(), "status.failed"), "3");
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Failed"), "True:BackoffLimitExceeded");
}

TEST_F(JobTest, AnIndexedJobRunsEachIndexOnce) {
  cluster.Make(kBatch, "jobs",
               Job(R"("completions":3,"parallelism":3,"completionMode":"Indexed",)", "sleep 1"));
  cluster.Pass(500ms);
  std::set<std::string> indexes;
  for (const auto& [_, pod] : cluster.store.All(Known().pods)) {
    indexes.insert(*pod->Label("batch.kubernetes.io/job-completion-index"));
    EXPECT_NE(pod->text.find("JOB_COMPLETION_INDEX"), std::string::npos);
  }
  EXPECT_EQ(indexes, (std::set<std::string>{"0", "1", "2"}));
  cluster.Pass(20s);
  EXPECT_EQ(At(Read(), "status.completedIndexes"), "0-2");
}

TEST_F(JobTest, RespectsItsDeadlineAndTimeToLive) {
  cluster.Make(kBatch, "jobs",
               Job(R"("activeDeadlineSeconds":20,"ttlSecondsAfterFinished":60,)", "sleep infinity"));
  cluster.Pass(15s);
  EXPECT_EQ(At(Read(), "status.active"), "1");
  cluster.Pass(10s);
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Failed"), "True:DeadlineExceeded");
  EXPECT_EQ(cluster.PodCount(), 0U);
  cluster.Pass(70s);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 0U);
}

TEST_F(JobTest, EndsOnlyWhenItsPodsHaveStopped) {
  KubeletOptions slow;
  slow.pod_stop = 20s;
  LiveCluster stopping(slow);
  stopping.CreateNodes(1);
  stopping.Make(kBatch, "jobs", Job(R"("parallelism":2,"activeDeadlineSeconds":20,)", "sleep infinity"));
  stopping.Pass(30s);
  auto job = stopping.Read(kBatch, "jobs", "j");
  EXPECT_EQ(LiveCluster::ConditionOf(job, "FailureTarget"), "True:DeadlineExceeded");
  EXPECT_EQ(LiveCluster::ConditionOf(job, "Failed"), "");
  EXPECT_EQ(At(job, "status.terminating"), "2");
  EXPECT_EQ(At(job, "status.failed"), "2");
  EXPECT_EQ(At(job, "status.active"), "");
  EXPECT_TRUE(stopping.Events("DeadlineExceeded").empty());
  stopping.Pass(15s);
  job = stopping.Read(kBatch, "jobs", "j");
  EXPECT_EQ(LiveCluster::ConditionOf(job, "Failed"), "True:DeadlineExceeded");
  EXPECT_EQ(At(job, "status.terminating"), "0");
  EXPECT_EQ(At(job, "status.failed"), "2");
  EXPECT_EQ(stopping.Events("DeadlineExceeded").size(), 1U);
  EXPECT_EQ(stopping.PodCount(), 0U);
}

TEST_F(JobTest, ADeadlineBeyondTheLastTimeIsNoLimit) {
  cluster.Make(kBatch, "jobs", Job(R"("activeDeadlineSeconds":9223372036854775807,)", "sleep 10"));
  cluster.Pass(20s);
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Complete"), "True:CompletionsReached");
}

TEST_F(JobTest, ThePodReplacementPolicyDecidesWhenADeletedPodIsReplaced) {
  KubeletOptions slow;
  slow.pod_stop = 20s;
  const struct {
    std::string_view policy;
    std::size_t while_stopping;
    std::string_view failed_while_stopping;
  } rows[] = {{R"("podReplacementPolicy":"Failed",)", 1, ""},
              {R"("podReplacementPolicy":"TerminatingOrFailed",)", 2, "1"},
              {"", 2, "1"},
              {R"("podFailurePolicy":{"rules":[]},)", 1, ""}};
  for (const auto& row : rows) {
    for (const std::string_view mode : {"NonIndexed", "Indexed"}) {
      LiveCluster stopping(slow);
      stopping.CreateNodes(1);
      stopping.Make(kBatch, "jobs",
                    Job(fmt::format(R"({}"completionMode":"{}","completions":1,)", row.policy, mode),
                        "sleep infinity"));
      stopping.Pass(5s);
      const std::string pod = stopping.Pods();
      stopping.Do("DELETE", fmt::format("/api/v1/namespaces/default/pods/{}", pod));
      stopping.Pass(12s);  // a back-off after the deletion
      auto job = stopping.Read(kBatch, "jobs", "j");
      EXPECT_EQ(stopping.PodCount(), row.while_stopping) << row.policy << mode;
      EXPECT_EQ(At(job, "status.failed"), row.failed_while_stopping) << row.policy << mode;
      EXPECT_EQ(At(job, "status.terminating"), "1") << row.policy << mode;
      stopping.Pass(20s);  // 20 s until it has stopped, and a back-off
      job = stopping.Read(kBatch, "jobs", "j");
      EXPECT_EQ(stopping.PodCount(), 1U) << row.policy << mode;
      EXPECT_NE(stopping.Pods(), pod) << row.policy << mode;
      EXPECT_EQ(At(job, "status.active"), "1") << row.policy << mode;
      EXPECT_EQ(At(job, "status.failed"), "1") << row.policy << mode;
      EXPECT_EQ(At(job, "status.terminating"), "0") << row.policy << mode;
    }
  }
}

TEST_F(JobTest, TheReplacementOfADeletedPodWaitsFromTheDeletionOn) {
  const auto remove = [&] {
    cluster.Do("DELETE", fmt::format("/api/v1/namespaces/default/pods/{}", cluster.Pods()));
  };
  cluster.Make(kBatch, "jobs", Job("", "sleep infinity"));
  cluster.Pass(60s);
  remove();
  cluster.Pass(8s);
  EXPECT_EQ(cluster.PodCount(), 0U) << "the pod is gone, and the back-off continues";
  EXPECT_EQ(At(Read(), "status.failed"), "1");
  cluster.Pass(4s);
  EXPECT_EQ(cluster.PodCount(), 1U);
  remove();
  cluster.Pass(18s);
  EXPECT_EQ(cluster.PodCount(), 0U) << "twice as long after the second failure";
  cluster.Pass(4s);
  EXPECT_EQ(cluster.PodCount(), 1U);
}

TEST_F(JobTest, ThePodReplacementPolicyIsValidated) {
  const auto message = [&](std::string_view more) {
    return At(cluster.Make(kBatch, "jobs", Job(more, "true")).Json(), "message");
  };
  EXPECT_EQ(message(R"("podReplacementPolicy":"Never",)"),
            "Job.batch \"j\" is invalid: spec.podReplacementPolicy: Unsupported value: \"Never\": supported "
            "values: \"Failed\", \"TerminatingOrFailed\"");
  EXPECT_EQ(message(R"("podReplacementPolicy":"TerminatingOrFailed","podFailurePolicy":{"rules":[]},)"),
            "Job.batch \"j\" is invalid: spec.podReplacementPolicy: Unsupported value: "
            "\"TerminatingOrFailed\": supported values: \"Failed\"");
}

TEST_F(JobTest, ADeadlineAfterATimeLongAgoHasPassed) {
  cluster.Make(kBatch, "jobs", Job(R"("activeDeadlineSeconds":1000,)", "sleep infinity"));
  cluster.Pass(5s);
  cluster.Patch("/apis/batch/v1/namespaces/default/jobs/j/status",
                R"({"status":{"startTime":"1690-01-01T00:00:00Z"}})");
  cluster.Pass(60s);
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Failed"), "True:DeadlineExceeded");
}

TEST_F(JobTest, APodWithoutANodeThatIsBeingDeletedDoesNotKeepItsJob) {
  LiveCluster empty;
  empty.Make(kBatch, "jobs", Job(R"("activeDeadlineSeconds":20,)", "sleep infinity"));
  empty.Pass(5s);
  empty.Patch("/api/v1/namespaces/default/pods/" + empty.Pods(),
              R"({"metadata":{"finalizers":["example.com/keep","batch.kubernetes.io/job-tracking"]}})");
  empty.Pass(30s);
  EXPECT_EQ(LiveCluster::ConditionOf(empty.Read(kBatch, "jobs", "j"), "Failed"), "True:DeadlineExceeded");
}

TEST_F(JobTest, ASuspendedJobHasNoPods) {
  cluster.Make(kBatch, "jobs", Job("", "sleep 100"));
  cluster.Pass(5s);
  cluster.Patch("/apis/batch/v1/namespaces/default/jobs/j", R"({"spec":{"suspend":true}})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 0U);
  EXPECT_EQ(At(Read(), "status.failed"), "");
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Suspended"), "True:JobSuspended");
  cluster.Patch("/apis/batch/v1/namespaces/default/jobs/j", R"({"spec":{"suspend":false}})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 1U);
}

TEST_F(JobTest, AFailingContainerIsRestartedAccordingToTheRestartPolicy) {
  cluster.Make(kBatch, "jobs", Job(R"("backoffLimit":2,)", "exit 1", "OnFailure"));
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 1U);
  EXPECT_EQ(At(Read(), "status.failed"), "");
  cluster.Pass(60s);
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Failed"), "True:BackoffLimitExceeded");
}

TEST_F(JobTest, PodsWithoutTheirJobLoseItsFinalizer) {
  const auto tracked = [&] {
    return std::ranges::count_if(cluster.store.All(Known().pods), [](const auto& entry) {
      return HasFinalizer(*entry.second, "batch.kubernetes.io/job-tracking");
    });
  };
  const auto remove = [&](std::string_view propagation) {
    cluster.Do("DELETE", "/apis/batch/v1/namespaces/default/jobs/j",
               fmt::format(R"({{"propagationPolicy":"{}"}})", propagation));
  };
  cluster.Make(kBatch, "jobs", Job("", "sleep 1000"));
  cluster.Pass(5s);
  EXPECT_EQ(tracked(), 1);
  // Released: the job has created another pod.
  cluster.Patch(fmt::format("/api/v1/namespaces/default/pods/{}", cluster.Pods()),
                R"({"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}})", "merge");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 2U);
  EXPECT_EQ(tracked(), 1);
  // Replaced by a job of the same name before its controller runs.
  remove("Background");
  cluster.Make(kBatch, "jobs", Job("", "sleep 1000"));
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 2U);
  EXPECT_EQ(tracked(), 1);
  remove("Orphan");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 2U);
  EXPECT_EQ(tracked(), 0);
}

TEST_F(JobTest, AnAdoptedPodIsTrackedAndCounted) {
  cluster.CreatePod("a", R"("restartPolicy":"Never")",
                    R"("labels":{"app":"x"},"annotations":{"sandbox.berth.dev/run-for":"20s"})");
  cluster.Pass(5s);
  cluster.Make(
      kBatch, "jobs",
      R"({"metadata":{"name":"j"},"spec":{"manualSelector":true,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  cluster.Pass(30s);
  EXPECT_EQ(cluster.Pods(), "a");
  EXPECT_EQ(At(Read(), "status.succeeded"), "1");
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Complete"), "True:CompletionsReached");
}

TEST_F(JobTest, CountsEachPodOnceIfAnAnnotationNamesTheFinalizer) {
  cluster.Make(
      kBatch, "jobs",
      R"({"metadata":{"name":"j"},"spec":{"completions":3,"parallelism":1,"template":{"metadata":{"annotations":{"note":"batch.kubernetes.io/job-tracking"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["true"]}]}}}})");
  cluster.Pass(60s);
  EXPECT_EQ(At(Read(), "status.succeeded"), "3");
  EXPECT_EQ(LiveCluster::ConditionOf(Read(), "Complete"), "True:CompletionsReached");
  EXPECT_EQ(cluster.PodCount(), 3U);
}

TEST_F(JobTest, IsDeletedWithItsPods) {
  cluster.Make(kBatch, "jobs", Job("", "sleep 100"));
  cluster.Pass(5s);
  cluster.Do("DELETE", "/apis/batch/v1/namespaces/default/jobs/j", R"({"propagationPolicy":"Background"})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(JobTest, ACronJobCreatesAJobEachMinuteAndKeepsThree) {
  cluster.Make(
      kBatch, "cronjobs",
      R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["true"]}]}}}}}})");
  cluster.Pass(150s);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 2U);
  cluster.Pass(600s);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 3U);
  const auto cron = cluster.Read(kBatch, "cronjobs", "c");
  EXPECT_NE(At(cron, "status.lastScheduleTime"), "");
  EXPECT_NE(At(cron, "status.lastSuccessfulTime"), "");
}

TEST_F(JobTest, ACronJobStartsOneJobForAllTheTimesItMissed) {
  cluster.Make(
      kBatch, "cronjobs",
      R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":true,"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["true"]}]}}}}}})");
  cluster.Pass(250min);
  cluster.Patch("/apis/batch/v1/namespaces/default/cronjobs/c", R"({"spec":{"suspend":false}})");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 1U);
  EXPECT_EQ(At(cluster.Read(kBatch, "cronjobs", "c"), "status.lastScheduleTime"),
            FormatTime(std::chrono::floor<std::chrono::minutes>(cluster.clock.WallNow())));
}

TEST_F(JobTest, ACronJobWithAnIntervalCountsFromItsLastStart) {
  cluster.Make(
      kBatch, "cronjobs",
      R"({"metadata":{"name":"c"},"spec":{"schedule":"@every 90m","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["sleep","300"]}]}}}}}})");
  const WallTime created = cluster.clock.WallNow();
  const auto last_start = [&] {
    return TimeOf(At(cluster.Read(kBatch, "cronjobs", "c"), "status.lastScheduleTime"));
  };
  cluster.Pass(89min);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 0U);
  cluster.Pass(2min);
  EXPECT_EQ(last_start(), std::chrono::floor<std::chrono::seconds>(created) + 90min);
  cluster.Pass(90min);
  EXPECT_EQ(last_start(), std::chrono::floor<std::chrono::seconds>(created) + 180min);
  EXPECT_EQ(cluster.store.All(Kinds().jobs).size(), 2U);
}

// Stores a CronJob as an older server accepted it.
Expected<LoadReport> LoadCronJob(LiveCluster& cluster, std::string_view schedule, bool suspended = false) {
  return LoadObjects(
      cluster.verbs,
      fmt::format(
          R"({{"apiVersion":"batch/v1","kind":"CronJob","metadata":{{"name":"c","namespace":"default","uid":"u-c","creationTimestamp":"{}"}},"spec":{{"schedule":"{}","suspend":{},"jobTemplate":{{"spec":{{"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i","command":["true"]}}]}}}}}}}}}}}})",
          FormatTime(cluster.clock.WallNow()), schedule, suspended));
}

// The reasons of the warnings, in the order of their last recording.
std::vector<std::string> WarningsOf(LiveCluster& cluster) {
  std::map<Version, std::string> found;
  for (const auto& [_, event] : cluster.store.All(Known().events)) {
    const Document document = event->Parse();
    if (FindString(document.root(), "type") == "Warning")
      found[event->version] = FindString(document.root(), "reason");
  }
  std::vector<std::string> reasons;
  for (auto& [_, reason] : found) reasons.push_back(reason);
  return reasons;
}

TEST_F(JobTest, ACronJobOfAnOlderServerMayHaveAZoneInItsSchedule) {
  const struct {
    const char* schedule;
    std::size_t jobs;
    const char* unparseable;
  } rows[] = {
      {"TZ=UTC * * * * *", 2, ""},
      {"CRON_TZ=Etc/UTC  * * * * *", 2, ""},
      {"TZ=UTC \\t@every 1m\\n ", 2, ""},
      {"CRON_TZ=Europe/Berlin * * * * *", 0,
       "unparseable schedule: \"CRON_TZ=Europe/Berlin * * * * *\" : provided bad location Europe/Berlin: "
       "unknown "
       "time zone Europe/Berlin"},
      {"TZ=UTC", 0, "unparseable schedule: \"TZ=UTC\" : empty spec string"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.schedule);
    LiveCluster loaded;
    loaded.CreateNodes(1);
    const auto report = LoadCronJob(loaded, row.schedule);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    loaded.Pass(150s);
    EXPECT_EQ(loaded.store.All(Kinds().jobs).size(), row.jobs);
    const std::vector<std::string> warnings = WarningsOf(loaded);
    ASSERT_FALSE(warnings.empty());
    EXPECT_EQ(warnings.front(), "UnsupportedSchedule");
    const std::vector<std::string> unparseable = loaded.Events("UnparseableSchedule");
    EXPECT_EQ(unparseable.empty() ? "" : unparseable.front(), row.unparseable);
  }
}

TEST_F(JobTest, ASuspendedCronJobGetsNoEventsAboutItsSchedule) {
  for (const std::string_view schedule : {"TZ=UTC * * * * *", "CRON_TZ=Europe/Berlin * * * * *", "TZ=UTC"}) {
    SCOPED_TRACE(schedule);
    LiveCluster loaded;
    const auto report = LoadCronJob(loaded, schedule, true);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    loaded.Pass(150s);
    EXPECT_THAT(WarningsOf(loaded), testing::IsEmpty());
  }
}

TEST(JobIndexes, AreWrittenAsRanges) {
  for (const std::string_view text : {"", "4", "0-2", "0,2,4-9", "1,2"})
    EXPECT_EQ(FormatIndexes(ParseIndexes(text)), text);
}

TEST(JobIndexes, OfClientsAreReadInOrderUpToAMillion) {
  EXPECT_EQ(ParseIndexes("3,1-5,3,7"), (std::set<std::int64_t>{3, 7}));
  EXPECT_EQ(ParseIndexes("0-599999,600000-9223372036854775807,5").size(), 1'000'000U);
  EXPECT_TRUE(ParseIndexes("9223372036854775807,-5--1").empty());
}

TEST(Times, AreReadWithTheirOffsetsAndFractions) {
  const struct {
    std::string_view text, in_utc;
  } rows[] = {{"2026-02-27T23:58:30Z", "2026-02-27T23:58:30.000000Z"},
              {"2026-02-28T01:58:30+02:00", "2026-02-27T23:58:30.000000Z"},
              {"2026-02-27T18:28:30-05:30", "2026-02-27T23:58:30.000000Z"},
              {"2026-02-27T23:58:30.25Z", "2026-02-27T23:58:30.250000Z"},
              {"2026-02-28T01:58:30.123456789+02:00", "2026-02-27T23:58:30.123456Z"}};
  for (const auto& row : rows) {
    const auto time = TimeOf(row.text);
    ASSERT_TRUE(time.has_value()) << row.text;
    EXPECT_EQ(FormatMicroTime(*time), row.in_utc) << row.text;
  }
  for (const std::string_view bad : {"", "2026-02-27", "2026-02-27T23:58:30", "2026-02-30T00:00:00Z",
                                     "2026-02-27T23:58:30.Z", "9999-01-01T00:00:00Z"})
    EXPECT_EQ(TimeOf(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace berth::sandbox
