#include "process/scheduler_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "process/effective_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "service/page/page.hpp"

namespace berth::process {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct CommandLine {
  explicit CommandLine(std::vector<std::string> args) : parsed(table.Parse(args)) {}
  Expected<config::SchedulerConfig> Config() {
    BERTH_TRY(const auto gates, config::FeatureGates::Parse(flags.feature_gates, notes));
    return EffectiveConfig(flags, table, assembly::InTreePlugins(), gates);
  }

  SchedulerFlags flags;
  command_line::FlagSet table = TableOf(flags);
  std::vector<std::string> notes;
  Expected<void> parsed;
};

TEST(SchedulerFlags, DefaultsAreThoseOfKubeScheduler) {
  CommandLine line({});
  ASSERT_TRUE(Validate(line.flags, {}));
  const auto config = line.Config();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->leader_election.leader_elect);
  EXPECT_EQ(config->leader_election.lease_duration, std::chrono::seconds(15));
  EXPECT_FALSE(config->client_connection.limits_given);
  EXPECT_THAT(NotesOn(line.flags, line.table), IsEmpty());
}

TEST(SchedulerFlags, TheSchedulerTakesNoArguments) {
  EXPECT_TRUE(CheckNoArguments(CommandLine({"", "--secure-port=7", ""}).table)) << "empty ones are none";
  const auto error = CheckNoArguments(CommandLine({"foo", "--secure-port=8", "", "bar"}).table);
  ASSERT_FALSE(error);
  EXPECT_THAT(error.error().message,
              HasSubstr("\"kube-scheduler\" does not take any arguments, got [\"foo\" \"\" \"bar\"]"));
}

TEST(SchedulerFlags, DeprecatedFlagsAreUsedWithoutAFile) {
  CommandLine line({"--kubeconfig=/k", "--kube-api-qps=7", "--profiling=false", "--scheduler-name=mine",
                    "--hard-pod-affinity-symmetric-weight=5", "--lock-object-name=old",
                    "--leader-elect=false"});
  const auto config = line.Config();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_connection.kubeconfig, "/k");
  EXPECT_TRUE(config->client_connection.limits_given);
  EXPECT_EQ(config->client_connection.qps, 7);
  EXPECT_FALSE(config->enable_profiling);
  EXPECT_EQ(config->profiles[0].scheduler_name, "mine");
  EXPECT_EQ(config->profiles[0].plugin_args.at("InterPodAffinity").Find("hardPodAffinityWeight")->text, "5");
  EXPECT_EQ(config->leader_election.resource_name, "old");
  EXPECT_FALSE(config->leader_election.leader_elect);
}

TEST(SchedulerFlags, TheNewNameOfALockOverridesTheOldOne) {
  CommandLine line({"--leader-elect-resource-name=new", "--lock-object-name=old"});
  EXPECT_EQ(line.Config()->leader_election.resource_name, "new");
}

TEST(SchedulerFlags, InvalidValuesHaveKubeSchedulersTexts) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--secure-port=99999"},
       "--secure-port 99999 must be between 1 and 65535, inclusive. It cannot be turned off with 0"},
      {{"--secure-port=-1"}, "--secure-port -1 must be between 0 and 65535, inclusive"},
      {{"--disabled-metrics=a-b"}, "got \"a-b\""},
      {{"--allow-metric-labels=foo=bar"}, "metrics.allowListMapping: Invalid value: {\"foo\":\"bar\"}"},
      {{"--requestheader-uid-headers=X-Foo"}, "without specifying the standard X-Remote-Uid header"},
      {{"--requestheader-group-headers=,"}, "empty value in \"requestheader-group-headers\""},
      {{"--emulated-version=1.36,1.35"}, "duplicate version flag, kube=1.36 and kube=1.35"},
      {{"--emulated-version=1.36.1"}, "patch version not allowed, got: kube=1.36.1"},
      {{"--show-hidden-metrics-for-version=1.35"},
       "metrics.showHiddenMetricsForVersion: Invalid value: \"1.35\": must be omitted or have the value "
       "'1.36'; only "
       "the previous minor version is allowed"},
      {{"--emulated-version=kube=1.38"}, "emulation version 1.38 is not between [1.34, 1.37.0]"},
      {{"--emulated-version=1.20"},
       "[emulation version 1.20 is not between [1.34, 1.37.0], minCompatibilityVersion version 1.34 is not "
       "between "
       "[1.34, 1.20]]"},
      {{"--min-compatibility-version=1.38"},
       "minCompatibilityVersion version 1.38 is not between [1.34, 1.37]"},
      {{"--emulated-version=foo=1.2"}, "component not registered: foo"},
  };
  for (const auto& [args, message] : cases) {
    CommandLine line(args);
    ASSERT_TRUE(line.parsed) << line.parsed.error().message;
    const auto valid = Validate(line.flags, {});
    ASSERT_FALSE(valid) << args[0];
    EXPECT_THAT(valid.error().message, HasSubstr(message));
  }
}

TEST(SchedulerFlags, CustomTypesAreValidated) {
  const std::pair<std::string, std::string> cases[] = {
      {"--bind-address=foo", "failed to parse IP: \"foo\""},
      {"--vmodule=x", "\"x\" does not have the pattern=N format"},
      {"--allow-metric-labels=foo", "foo must be formatted as key=value"},
      {"--log-text-info-buffer-size=x", "quantities must match the regular expression"},
      {"--version=v1.36.0", "must match major/minor/patch of default version \"v1.37.1\""},
      {"--version=foo", "strconv.ParseBool: parsing \"foo\": invalid syntax"},
      {"-v=-1", "strconv.ParseUint: parsing \"-1\": invalid syntax"},
  };
  for (const auto& [arg, message] : cases) {
    CommandLine line({arg});
    ASSERT_FALSE(line.parsed) << arg;
    EXPECT_THAT(line.parsed.error().message, HasSubstr(message));
  }
}

TEST(SchedulerFlags, AReportedVersionMayOnlyAddASuffix) {
  EXPECT_EQ(ReportedVersion(CommandLine({"--version=v1.37.1-mine", "--version"}).flags), "v1.37.1-mine");
  EXPECT_EQ(ReportedVersion(CommandLine({}).flags), "v1.37.1");
}

TEST(SchedulerFlags, ThePageAndRetriesNeedTheSecurePortAndTheApi) {
  const auto wrong = [](std::vector<std::string> args) {
    const CommandLine line(std::move(args));
    EXPECT_TRUE(line.parsed) << line.parsed.error().message;
    const auto valid = Validate(line.flags, {});
    return valid ? "" : valid.error().message;
  };
  EXPECT_EQ(wrong({"--berth-config-reload"}), "--berth-config-reload needs --config");
  EXPECT_EQ(wrong({"--berth-config-reload", "--config=c", "--berth-reload-limit=5"}), "");
  EXPECT_EQ(wrong({"--berth-reload-limit=101"}), "--berth-reload-limit 101 must be between 0 and 100");
  EXPECT_EQ(wrong({"--berth-reload-limit=-1"}), "--berth-reload-limit -1 must be between 0 and 100");
  EXPECT_EQ(wrong({"--berth-api-reload"}), "--berth-api-reload needs --config");
  EXPECT_EQ(wrong({"--berth-api-reload", "--config=c", "--secure-port=0"}),
            "--berth-api-reload needs the secure port: --secure-port is 0");
  EXPECT_EQ(wrong({"--berth-api-retry"}), "");
  EXPECT_EQ(wrong({"--berth-api-retry", "--secure-port=0"}),
            "--berth-api-retry needs the secure port: --secure-port is 0");
  EXPECT_EQ(wrong({"--berth-api-retry", "--berth-shadow"}),
            "--berth-api-retry cannot be used with --berth-shadow: a shadow does not serve the API");
  if (!service::HasPage()) {
    EXPECT_THAT(wrong({"--berth-ui"}), HasSubstr("built without the page"));
    return;
  }
  EXPECT_EQ(wrong({"--berth-ui"}), "");
  EXPECT_EQ(wrong({"--berth-ui", "--secure-port=0"}), "--berth-ui needs the secure port: --secure-port is 0");
  EXPECT_EQ(wrong({"--berth-ui", "--berth-shadow"}),
            "--berth-ui cannot be used with --berth-shadow: a shadow does not serve the API");
}

TEST(SchedulerFlags, ShadowFlagsAreCheckedTogether) {
  const auto wrong = [](std::vector<std::string> args) {
    const CommandLine line(std::move(args));
    EXPECT_TRUE(line.parsed) << line.parsed.error().message;
    const auto valid = Validate(line.flags, {});
    return valid ? "" : valid.error().message;
  };
  EXPECT_EQ(wrong({"--berth-shadow", "--berth-shadow-report=/tmp/r.json", "--berth-shadow-window=1m"}), "");
  EXPECT_EQ(wrong({"--berth-shadow-report=/tmp/r.json"}),
            "--berth-shadow-report /tmp/r.json needs --berth-shadow");
  EXPECT_EQ(wrong({"--berth-shadow", "--berth-shadow-window=-1s"}),
            "--berth-shadow-window -1s must not be negative");
  EXPECT_EQ(wrong({"--berth-shadow", "--berth-shadow-keep=-1"}),
            "--berth-shadow-keep -1 must be between 0 and 100000");
  EXPECT_THAT(wrong({"--berth-shadow", "--berth-otlp-endpoint=http://collector:4318"}),
              HasSubstr("a shadow does not schedule"));
}

TEST(SchedulerFlags, FlagsWithoutEffectAreReportedInOneLineEach) {
  CommandLine line({"--port=0", "--logtostderr=true", "--http2-max-streams-per-connection=5",
                    "--disable-http2-serving", "--min-compatibility-version=1.36"});
  EXPECT_THAT(NotesOn(line.flags, line.table),
              ElementsAre(HasSubstr("--http2-max-streams-per-connection: no effect"),
                          HasSubstr("--disable-http2-serving: no effect"),
                          HasSubstr("--min-compatibility-version: no effect"),
                          HasSubstr("--logtostderr: flag of an older release"),
                          HasSubstr("--port: flag of an older release, used as --berth-http-address")));
}

TEST(SchedulerFlags, SplitLogStreamsRequireTheirFeatureGate) {
  CommandLine line({"--log-json-split-stream"});
  EXPECT_EQ(ValidateLogging(line.flags, {}).error().message,
            "options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled");
  const std::vector<std::string> gates = {"LoggingAlphaOptions=true"};
  EXPECT_TRUE(ValidateLogging(line.flags, *config::FeatureGates::Parse(gates, line.notes)));
}

TEST(SchedulerFlags, ElectionFlagsApplyBeforeTheFileIsValidated) {
  const std::string file = ::testing::TempDir() + "/short-lease.yaml";
  std::ofstream(file) << "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                         "leaderElection: {leaseDuration: 5s}\n";
  EXPECT_THAT(CommandLine({"--config=" + file}).Config().error().message,
              HasSubstr("must be greater than `RenewDeadline`"));
  EXPECT_TRUE(CommandLine({"--config=" + file, "--leader-elect-lease-duration=20s"}).Config());
}

TEST(SchedulerFlags, AcceptsEveryFlagOfKubeadmsStaticPods) {
  CommandLine line({"--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
                    "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf", "--bind-address=127.0.0.1",
                    "--kubeconfig=/etc/kubernetes/scheduler.conf", "--leader-elect=true"});
  ASSERT_TRUE(line.parsed) << line.parsed.error().message;
  EXPECT_EQ(line.flags.authentication.kubeconfig, "/etc/kubernetes/scheduler.conf");
  EXPECT_EQ(line.flags.serving.bind_address, "127.0.0.1");
  EXPECT_THAT(line.table.Values(),
              Contains(::testing::Pair("authorization-always-allow-paths", "[/healthz,/readyz,/livez]")));
}

}  // namespace
}  // namespace berth::process
