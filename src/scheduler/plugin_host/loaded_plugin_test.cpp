#include "scheduler/plugin_host/loaded_plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "kubernetes/api/decode.hpp"
#include "scheduler/framework/one_node.hpp"
#include "testing/cluster.hpp"

namespace berth::plugin_host {
namespace {

using framework::Code;
using testing::Cluster;
using ::testing::ElementsAre;
using testing::Fits;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using testing::NodeScores;
using testing::Unresolvable;
using testing::Unschedulable;

// A plugin with functions defined by the test; `self` points to this object.
struct Script {
  const berth_host* host = nullptr;
  berth_scheduler* scheduler = nullptr;
  std::string arguments;
  std::function<bool(berth_reply*)> create;
  std::function<std::int32_t(const berth_attempt*, berth_reply*)> pre_filter;
  std::function<std::int32_t(const berth_attempt*, std::uint32_t, berth_reply*)> filter_node;
  std::function<std::int32_t(const berth_attempt*, const std::uint64_t*, berth_rejections*, berth_reply*)>
      filter;
  std::function<std::int32_t(const berth_attempt*, std::uint32_t, std::int64_t*)> score_node;
  std::function<std::int32_t(const berth_attempt*, const std::uint64_t*, std::int64_t*)> score;
  std::function<std::int32_t(std::int64_t, std::int64_t, std::int64_t*)> normalize_node;
  std::function<std::int32_t(const berth_placement*, berth_reply*)> reserve, pre_bind;
  std::function<std::int32_t(const berth_placement*, std::int64_t*)> permit;
  int destroyed = 0;
};
Script* current = nullptr;
Script& Of(void* self) { return *static_cast<Script*>(self); }

berth_plugin TableOf(const Script& script) {
  berth_plugin table{};
  table.size = sizeof table;
  table.name = "Scripted";
  table.create = [](const berth_host* host, berth_scheduler* scheduler, const char* arguments,
                    berth_reply* reply) -> void* {
    current->host = host;
    current->scheduler = scheduler;
    current->arguments = arguments;
    return !current->create || current->create(reply) ? current : nullptr;
  };
  table.destroy = [](void* self) { ++Of(self).destroyed; };
  if (script.pre_filter)
    table.pre_filter = [](void* self, const auto* attempt, auto* reply) {
      return Of(self).pre_filter(attempt, reply);
    };
  if (script.filter_node)
    table.filter_node = [](void* self, const auto* attempt, std::uint32_t row, auto* reply) {
      return Of(self).filter_node(attempt, row, reply);
    };
  if (script.filter)
    table.filter = [](void* self, const auto* attempt, const auto* words, auto* rejections, auto* reply) {
      return Of(self).filter(attempt, words, rejections, reply);
    };
  if (script.score_node)
    table.score_node = [](void* self, const auto* attempt, std::uint32_t row, std::int64_t* score,
                          berth_reply*) { return Of(self).score_node(attempt, row, score); };
  if (script.score)
    table.score = [](void* self, const auto* attempt, const auto* words, std::int64_t* scores, berth_reply*) {
      return Of(self).score(attempt, words, scores);
    };
  if (script.normalize_node)
    table.normalize_node = [](void* self, const berth_attempt*, std::uint32_t, std::int64_t lowest,
                              std::int64_t highest, std::int64_t* score,
                              berth_reply*) { return Of(self).normalize_node(lowest, highest, score); };
  if (script.reserve) {
    table.reserve = [](void* self, const auto* placement, auto* reply) {
      return Of(self).reserve(placement, reply);
    };
    table.unreserve = [](void*, const berth_placement*) {};
  }
  if (script.permit)
    table.permit = [](void* self, const auto* placement, std::int64_t* timeout, berth_reply*) {
      return Of(self).permit(placement, timeout);
    };
  if (script.pre_bind)
    table.pre_bind = [](void* self, const auto* placement, auto* reply) {
      return Of(self).pre_bind(placement, reply);
    };
  return table;
}

class Loaded : public ::testing::Test {
 protected:
  Loaded() {
    for (const auto* name : {"a", "b", "c"}) cluster.Add(MakeNode(name).Cpu("4").Label("zone", name));
    cluster.Run("b", MakePod("there").Request("cpu", "1"));
  }
  framework::PluginOrError TryMake(const std::string& args = "") {
    current = &script;
    config::Value value = config::Value::Map();
    if (!args.empty()) value = yaml::ParseValue(args).value();
    return FactoryOf(TableOf(script))({args.empty() ? nullptr : &value, "profiles[0].pluginConfig[0].args"},
                                      cluster.handle());
  }
  template <class T>
  const T& Make() {
    plugin = TryMake().value();
    return *framework::As<T>(plugin.get());
  }
  testing::Verdicts Filter() {
    return cluster.Filter(Make<framework::FilterPlugin>(), MakePod().Request("cpu", "2"));
  }
  NodeScores Scores() { return cluster.Scores(Make<framework::ScorePlugin>(), MakePod()); }
  std::uint32_t RowOf(const char* node) { return cluster.RowOf(node); }
  const berth_host& host() { return *script.host; }

  Cluster cluster;
  Script script;
  std::unique_ptr<framework::Plugin> plugin;
};

TEST_F(Loaded, ImplementsTheExtensionPointsOfItsTable) {
  script.filter_node = [](auto*, auto, auto*) { return BERTH_SUCCESS; };
  plugin = TryMake().value();
  EXPECT_NE(framework::As<framework::FilterPlugin>(plugin.get()), nullptr);
  EXPECT_EQ(framework::As<framework::PreFilterPlugin>(plugin.get()), nullptr);
  EXPECT_EQ(framework::As<framework::ScorePlugin>(plugin.get()), nullptr);
  EXPECT_EQ(framework::As<framework::PreBindPlugin>(plugin.get()), nullptr);
  EXPECT_EQ(plugin->Name(), "Scripted");
  plugin.reset();
  EXPECT_EQ(script.destroyed, 1);
}

TEST_F(Loaded, ArgumentsAreDecodedStrictly) {
  std::int64_t most = 5;
  std::int32_t hard = 1;
  std::string colour;
  script.pre_filter = [](auto*, auto*) { return BERTH_SUCCESS; };
  script.create = [&](berth_reply* reply) {
    const char* text = "red";
    host().take_int(reply, "most", &most);
    host().take_bool(reply, "hard", &hard);
    host().take_text(reply, "colour", &text);
    colour = text;
    if (most < 10) return true;
    host().add_reason(reply, "most: Invalid value: must be below 10");
    return false;
  };
  EXPECT_TRUE(TryMake("{most: 7, colour: blue, kind: ScriptedArgs}"));
  EXPECT_EQ(most, 7);
  EXPECT_EQ(hard, 1);
  EXPECT_EQ(colour, "blue");
  EXPECT_EQ(script.arguments, R"({"colour":"blue","kind":"ScriptedArgs","most":7})");
  EXPECT_THAT(TryMake("mots: 7").error().message, HasSubstr("unknown field \"mots\""));
  EXPECT_THAT(TryMake("most: seven").error().message, HasSubstr("most"));
  EXPECT_EQ(TryMake("most: 70").error().message,
            "profiles[0].pluginConfig[0].args.most: Invalid value: must be below 10");
  script.create = [](berth_reply*) { return false; };
  EXPECT_EQ(TryMake().error().message, "create returned NULL without an error text");
}

TEST_F(Loaded, ArgumentsThatAreAbsentLeaveTheVariablesUnchanged) {
  const char* const usual = "red";
  const char* none = nullptr;
  const char* text = usual;
  std::int32_t hard = -1;
  script.pre_filter = [](auto*, auto*) { return BERTH_SUCCESS; };
  script.create = [&](berth_reply* reply) {
    host().take_text(reply, "absent", &none);
    host().take_text(reply, "colour", &text);
    host().take_bool(reply, "hard", &hard);
    return true;
  };
  for (const char* arguments : {"{}", "{absent: null, colour: null, hard: null}"}) {
    EXPECT_TRUE(TryMake(arguments)) << arguments;
    EXPECT_EQ(none, nullptr) << arguments;
    EXPECT_EQ(text, usual) << arguments;
    EXPECT_EQ(hard, -1) << arguments;
  }
  EXPECT_THAT(TryMake("colors: blue").error().message, HasSubstr("unknown field \"colors\""));
  EXPECT_TRUE(TryMake("hard: true"));
  EXPECT_EQ(hard, 1);
}

TEST_F(Loaded, FilterNodeIsCalledPerNode) {
  script.filter_node = [&](const berth_attempt* attempt, std::uint32_t row,
                           berth_reply* reply) -> std::int32_t {
    const std::string name = host().node_name(attempt, row);
    if (name == "a") {
      host().add_reason(reply, "too loud");
      return BERTH_UNRESOLVABLE;
    }
    if (name == "b" && host().node_pods(attempt, row) == 1) {
      host().add_reason(reply, host().pod_name(host().node_pod(attempt, row, 0)));
      return BERTH_UNSCHEDULABLE;
    }
    EXPECT_STREQ(host().node_label(attempt, row, "zone"), "c");
    EXPECT_EQ(host().node_label(attempt, row, "none"), nullptr);
    return BERTH_SUCCESS;
  };
  EXPECT_EQ(
      Filter(),
      (testing::Verdicts{{"a", Unresolvable({"too loud"})}, {"b", Unschedulable({"there"})}, {"c", Fits()}}));
}

TEST_F(Loaded, FilterReturnsSets) {
  script.filter = [&](const berth_attempt* attempt, const std::uint64_t* words, berth_rejections* rejections,
                      berth_reply*) {
    EXPECT_EQ(host().rows(attempt), 3u);
    EXPECT_EQ(words[0], 0b111u);
    const std::int64_t* allocatable = host().allocatable(attempt, BERTH_CPU);
    const std::int64_t* requested = host().requested(attempt, BERTH_CPU);
    std::uint64_t* rejected = host().reject(rejections, "little cpu");
    for (std::uint32_t row = 0; row < 3; ++row) {
      if (allocatable[row] - requested[row] - host().request(attempt, BERTH_CPU) < 2000)
        BERTH_ADD_ROW(rejected, row);
    }
    host().add_rows_with_label(attempt, "zone", "c", host().unresolvable(rejections));
    const std::uint32_t row = RowOf("c");
    host().reject_rows(rejections, "far away", &row, 1);
    return BERTH_SUCCESS;
  };
  EXPECT_EQ(Filter(),
            (testing::Verdicts{
                {"a", Fits()}, {"b", Unschedulable({"little cpu"})}, {"c", Unresolvable({"far away"})}}));
}

TEST_F(Loaded, InvalidFilterResultsAreErrors) {
  using Out = berth_rejections*;
  const struct {
    std::function<std::int32_t(Out, berth_reply*)> filter;
    const char* text;
  } cases[] = {
      {[](Out, auto*) { return 17; }, "filter returned 17, expected one of 0 (Success), 1 (Error)"},
      {[](Out, auto*) { return BERTH_SKIP; }, "filter returned 5"},
      {[](Out, auto*) { return BERTH_ERROR; }, "filter failed without an error text"},
      {[&](Out, berth_reply* reply) { return host().add_reason(reply, "no disk"), BERTH_ERROR; }, "no disk"},
      {[&](Out out, auto*) { return host().reject(out, "x")[0] = 8, BERTH_SUCCESS; },
       "filter rejected row 3 of a table of 3"},
      {[&](Out out, auto*) { return host().reject(out, "x")[1] = 1, BERTH_SUCCESS; },
       "filter rejected row 64"},
      {[&](Out out, auto*) { return host().unresolvable(out)[0] = 16, BERTH_SUCCESS; }, "rejected row 4"},
      {[&](Out out, auto*) {
         const std::uint32_t row = 9;
         return host().reject_rows(out, "x", &row, 1), BERTH_SUCCESS;
       },
       "reject_rows: row 9 of a table of 3"},
      {[&](Out out, auto*) {
         const std::uint32_t rows[4] = {};
         return host().reject_rows(out, "x", rows, 4), BERTH_SUCCESS;
       },
       "reject_rows: 4 rows of a table of 3"},
      {[&](Out out, auto*) { return host().fail_row(out, 5, "x"), BERTH_SUCCESS; }, "fail_row: row 5"},
      {[&](Out out, auto*) {
         for (int i = 0; i < 300; ++i) host().reject(out, std::to_string(i).c_str());
         return BERTH_SUCCESS;
       },
       "more than 256 different reasons"},
  };
  for (const auto& c : cases) {
    script.filter = [&](auto*, auto*, berth_rejections* out, berth_reply* reply) {
      return c.filter(out, reply);
    };
    const auto verdict = Filter().at("a");
    EXPECT_EQ(verdict.code, Code::kError) << c.text;
    ASSERT_FALSE(verdict.reasons.empty()) << c.text;
    EXPECT_THAT(verdict.reasons[0], HasSubstr(c.text));
  }
}

TEST_F(Loaded, AnInvalidStatusFailsTheNode) {
  script.filter_node = [&](auto*, std::uint32_t row, auto*) {
    return row == RowOf("b") ? 99 : BERTH_SUCCESS;
  };
  const auto verdicts = Filter();
  EXPECT_EQ(verdicts.at("b").code, Code::kError);
  EXPECT_THAT(verdicts.at("b").reasons, ElementsAre(HasSubstr("filter_node returned 99")));
  EXPECT_EQ(verdicts.at("a"), Fits());
}

TEST_F(Loaded, InvalidRowsReadAsEmpty) {
  script.filter_node = [&](const berth_attempt* attempt, std::uint32_t, berth_reply*) {
    EXPECT_STREQ(host().node_name(attempt, 1000), "");
    EXPECT_EQ(host().node_label(attempt, 1000, "zone"), nullptr);
    EXPECT_EQ(host().node_allocatable(attempt, 1000, BERTH_CPU), 0);
    EXPECT_EQ(host().node_requested(attempt, 0, 12345), 0);
    EXPECT_EQ(host().node_pod(attempt, 1000, 0), nullptr);
    EXPECT_EQ(host().node_pod(attempt, 0, 1000), nullptr);
    return BERTH_SUCCESS;
  };
  EXPECT_EQ(Filter().at("a"), Fits());
}

TEST_F(Loaded, ScoresPerNodeAndForAllNodes) {
  const NodeScores expected = {{"a", 100}, {"b", 0}, {"c", 100}};
  script.score_node = [&](const berth_attempt* attempt, std::uint32_t row, std::int64_t* score) {
    *score = host().node_requested(attempt, row, BERTH_CPU);
    return BERTH_SUCCESS;
  };
  script.normalize_node = [](std::int64_t lowest, std::int64_t highest, std::int64_t* score) {
    *score = (highest - *score) * 100 / (highest - lowest);
    return BERTH_SUCCESS;
  };
  EXPECT_EQ(Scores(), expected);
  script.score_node = nullptr;
  script.score = [&](const berth_attempt* attempt, auto*, std::int64_t* scores) {
    for (std::size_t row = 0; row < host().rows(attempt); ++row) {
      EXPECT_EQ(scores[row], 0) << "the column begins with zeros";
      scores[row] = host().requested(attempt, BERTH_CPU)[row];
    }
    return BERTH_SUCCESS;
  };
  EXPECT_EQ(Scores(), expected);
  script.score = [](auto*, auto*, auto*) { return BERTH_UNSCHEDULABLE; };
  EXPECT_THROW(Scores(), std::runtime_error);
}

TEST_F(Loaded, TheDataOfAnAttemptIsDestroyed) {
  int destroyed = 0;
  script.pre_filter = [&](const berth_attempt* attempt, berth_reply* reply) {
    EXPECT_EQ(host().data(attempt), nullptr);
    host().set_data(attempt, &destroyed, [](void* data) { ++*static_cast<int*>(data); });
    EXPECT_EQ(host().data(attempt), &destroyed);
    const char* const names[] = {"b", "elsewhere"};
    host().only_nodes(reply, names, 2);
    return BERTH_SUCCESS;
  };
  const auto answer = cluster.PreFilter(Make<framework::PreFilterPlugin>(), MakePod());
  EXPECT_TRUE(answer.status.ok());
  ASSERT_TRUE(answer.nodes);
  EXPECT_EQ(cluster.symbols().node_names.Text(answer.nodes->front()), "b");
  EXPECT_EQ(answer.nodes->size(), 2u);
  EXPECT_FALSE(cluster.symbols().node_names.Find("elsewhere").known()) << "names without a node are not kept";
  {
    const framework::CycleState copy = cluster.state().Clone();
    cluster.state() = {};
    EXPECT_EQ(destroyed, 0) << "a what-if has it still";
  }
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Loaded, PlacementFunctionsAreCalledInOrder) {
  const cluster::PodInfo pod = cluster.Prepare(MakePod("new"));
  const std::string node = "c";
  const framework::Placement placement{pod, node, cluster.state()};
  script.reserve = [&](const berth_placement* placed, berth_reply* reply) {
    EXPECT_STREQ(host().pod_name(host().placement_pod(placed)), "new");
    host().set_placement_data(placed, &script, nullptr);
    host().add_reason(reply, host().placement_node(placed));
    return BERTH_UNSCHEDULABLE;
  };
  script.permit = [&](const berth_placement* placed, std::int64_t* timeout) {
    EXPECT_EQ(host().placement_data(placed), &script);
    *timeout = 2500;
    return BERTH_WAIT;
  };
  script.pre_bind = [&](const berth_placement* placed, berth_reply* reply) {
    host().add_reason(reply, host().stop_requested(placed) != 0 ? "stopped" : "not stopped");
    return BERTH_ERROR;
  };
  plugin = TryMake().value();
  const framework::Status reserved =
      framework::As<framework::ReservePlugin>(plugin.get())->Reserve(placement);
  EXPECT_EQ(reserved.code, Code::kUnschedulable);
  EXPECT_THAT(reserved.reasons, ElementsAre("c"));
  const auto permitted = framework::As<framework::PermitPlugin>(plugin.get())->Permit(placement);
  EXPECT_EQ(permitted.status.code, Code::kWait);
  EXPECT_EQ(permitted.timeout, std::chrono::milliseconds(2500));
  auto* pre_bind = dynamic_cast<framework::BlockingPreBindPlugin*>(plugin.get());
  std::stop_source stop;
  EXPECT_EQ(pre_bind->PreBindNow(placement, stop.get_token()).Message(), "not stopped");
  stop.request_stop();
  EXPECT_EQ(pre_bind->PreBindNow(placement, stop.get_token()).Message(), "stopped");
  host().allow(script.scheduler, "uid");  // no effect without a running scheduler
}

TEST_F(Loaded, DeclaredAnnotationsAreAvailable) {
  api::Decoder decoder({.annotations = {"example.com/team"}});
  const auto decoded = decoder.Object<api::Pod>(
      R"({"metadata":{"name":"p","annotations":{"example.com/team":"blue","example.com/other":"x"}}})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  script.pre_filter = [&](const berth_attempt* attempt, berth_reply*) {
    EXPECT_STREQ(host().pod_annotation(host().pod(attempt), "example.com/team"), "blue");
    EXPECT_EQ(host().pod_annotation(host().pod(attempt), "example.com/other"), nullptr);
    return BERTH_SKIP;
  };
  EXPECT_TRUE(cluster.PreFilter(Make<framework::PreFilterPlugin>(), *decoded).status.skip());
}

TEST_F(Loaded, SignalsAreDeclaredAndRead) {
  script.create = [&](berth_reply* reply) {
    berth_signal signal{sizeof signal, 0, "load", "http://prometheus", "sum by ($node) (load)"};
    EXPECT_EQ(host().register_signal(script.scheduler, &signal, reply), 0u);
    signal.expression = nullptr;
    return host().register_signal(script.scheduler, &signal, reply) != UINT32_MAX;
  };
  script.pre_filter = [](auto*, auto*) { return BERTH_SUCCESS; };
  EXPECT_EQ(TryMake().error().message,
            "profiles[0].pluginConfig[0].args.signal: needs name, source and expression");
}

}  // namespace
}  // namespace berth::plugin_host
