#include "scheduler/extenders/extenders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/tls.hpp"
#include "scheduler/extenders/fake_transport.hpp"
#include "scheduler/extenders/http_transport.hpp"
#include "scheduler/extenders/requests.hpp"
#include "testing/cluster.hpp"

namespace berth::extenders {
namespace {

using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

config::ExtenderConfig At(std::string url) {
  config::ExtenderConfig config;
  config.url_prefix = std::move(url);
  config.node_cache_capable = true;
  return config;
}
config::ExtenderConfig Filtering(std::string url, bool ignorable = false) {
  config::ExtenderConfig config = At(std::move(url));
  config.filter_verb = "filter";
  config.ignorable = ignorable;
  return config;
}
config::ExtenderConfig Prioritizing(std::string url, std::int64_t weight) {
  config::ExtenderConfig config = At(std::move(url));
  config.prioritize_verb = "prioritize";
  config.weight = weight;
  return config;
}

api::Pod WithText(berth::testing::PodBuilder pod, std::string text) {
  pod.raw().text = std::move(text);
  return pod;
}
api::Node WithText(const berth::testing::NodeBuilder& builder, std::string text) {
  api::Node node = builder;
  node.text = std::move(text);
  return node;
}

// --- requests ---

TEST(RequestTest, RequestsAreEncodedAsByGo) {
  const api::Pod pod = WithText(MakePod("p").Uid("u"), R"({"metadata":{"name":"p"}})");
  const std::string a = "a", odd = "<b>";
  const std::vector<const std::string*> names{&a, &odd};
  EXPECT_EQ(NamesRequest(pod, names),
            R"({"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","\u003cb\u003e"]})");
  EXPECT_EQ(NamesRequest(pod, {}), R"({"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":[]})");
  const api::Node node = WithText(MakeNode("a"), R"({"metadata":{"name":"a"}})");
  const std::vector<const api::Node*> nodes{&node, &node};
  EXPECT_EQ(
      NodesRequest(pod, nodes),
      R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]},"NodeNames":null})");
  EXPECT_EQ(NodesRequest(pod, {}),
            R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"metadata":{},"items":null},"NodeNames":null})");
  EXPECT_EQ(BindRequest(pod, "a"), R"({"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"a"})");
}

TEST(RequestTest, VictimsAreSentWholeOrByUid) {
  const api::Pod pod = WithText(MakePod("p"), "{}");
  const api::Pod victim = WithText(MakePod("v").Uid("u-v").OnNode("a"), R"({"spec":{}})");
  const std::vector<Victims> victims{{"a", {&victim}, 0}, {"b", {&victim}, 2}};
  EXPECT_EQ(
      PreemptRequest(pod, victims, false),
      R"({"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-v"}],"NumPDBViolations":0},"b":{"Pods":[{"UID":"u-v"}],"NumPDBViolations":2}}})");
  EXPECT_EQ(
      PreemptRequest(pod, victims, true),
      R"({"Pod":{},"NodeNameToVictims":{"a":{"Pods":[{"spec":{}}],"NumPDBViolations":0},"b":{"Pods":[{"spec":{}}],"NumPDBViolations":2}},"NodeNameToMetaVictims":null})");
}

TEST(RequestTest, VictimsThatAreNotYetBoundHaveTheirNode) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {R"({"metadata":{},"spec":{},"status":{}})", R"({"metadata":{},"spec":{"nodeName":"a"},"status":{}})"},
      {R"({"spec":{"hostNetwork":true}})", R"({"spec":{"nodeName":"a","hostNetwork":true}})"},
      {R"({"spec":{"containers":[{"name":"c"}],"dnsPolicy":"Default","securityContext":{}}})",
       R"({"spec":{"containers":[{"name":"c"}],"dnsPolicy":"Default","nodeName":"a","securityContext":{}}})"},
      {R"({"spec":{"containers":[]}})", R"({"spec":{"containers":[],"nodeName":"a"}})"},
      {"{}", "{}"},
  };
  const api::Pod pod = WithText(MakePod("p"), "{}");
  for (const auto& [text, expected] : cases) {
    const api::Pod victim = WithText(MakePod("v"), text);
    const std::vector<Victims> victims{{"a", {&victim}, 0}};
    EXPECT_THAT(PreemptRequest(pod, victims, true), HasSubstr(R"("NodeNameToVictims":{"a":{"Pods":[)" +
                                                              expected + R"(],"NumPDBViolations":0}})"));
  }
}

// --- calls ---

class ExtendersTest : public ::testing::Test {
 protected:
  ExtendersTest() {
    for (const char* name : {"a", "b", "c"}) cluster.Add(MakeNode(name));
    for (std::uint32_t row = 0; row < 3; ++row) order.push_back(row);
  }
  void Configure(const std::vector<config::ExtenderConfig>& configs, CircuitOptions circuit = {}) {
    extenders = std::move(Extenders::Make(configs, fake.Maker(), {nullptr, &clock, circuit})).value();
    extenders->ReviewOn(cluster.nodes());
  }
  FilterResult Filter(const api::Pod& pod = MakePod()) {
    extenders->BeginDecision();
    return extenders->Filter(cluster.Prepare(pod), {cluster.nodes(), order}, cluster.nodes().all());
  }
  PrioritizeResult Prioritize() {
    extenders->BeginDecision();
    return extenders->Prioritize(cluster.Prepare(MakePod()), {cluster.nodes(), order}, cluster.nodes().all());
  }
  std::vector<std::string> Names(const RowSet& rows) {
    std::vector<std::string> names;
    rows.ForEach(
        [&](std::size_t row) { names.push_back(cluster.nodes().name(static_cast<cluster::Row>(row))); });
    return names;
  }

  berth::testing::Cluster cluster;
  std::vector<cluster::Row> order;
  ManualClock clock;
  FakeExtenders fake;
  std::unique_ptr<Extenders> extenders;
};

TEST_F(ExtendersTest, EachReceivesTheRemainingNodesAndIgnorableOnesAreLast) {
  Configure({Filtering("http://ignorable", true), Filtering("http://first///")});
  fake.Answer("http://first/filter", R"({"NodeNames":["a","b"]})");
  fake.Answer("http://ignorable/filter", R"({"NodeNames":["b"],"FailedNodes":{"a":"hot"}})");
  const FilterResult result = Filter();
  EXPECT_THAT(fake.Urls(), ElementsAre("http://first/filter", "http://ignorable/filter"));
  EXPECT_THAT(fake.requests[1].body, HasSubstr(R"("NodeNames":["a","b"])"));
  EXPECT_THAT(Names(result.left), ElementsAre("b"));
  ASSERT_EQ(result.silent.size(), 1U);
  EXPECT_EQ(result.silent[0].extender, "http://first///");
  EXPECT_THAT(Names(result.silent[0].rows), ElementsAre("c"));
  ASSERT_EQ(result.reasons.size(), 1U);
  EXPECT_EQ(result.reasons[0].reason, "hot");
}

TEST_F(ExtendersTest, NoExtenderIsCalledWithoutRemainingNodes) {
  Configure({Filtering("http://x"), Filtering("http://y")});
  fake.Answer("http://x/filter", "{}");
  EXPECT_TRUE(Filter().left.Empty());
  EXPECT_THAT(fake.Urls(), ElementsAre("http://x/filter"));
}

TEST_F(ExtendersTest, AFailureEndsTheAttemptUnlessTheExtenderIsIgnorable) {
  Configure({Filtering("http://x"), Filtering("http://y", true)});
  fake.Answer("http://x/filter", "", 503);
  EXPECT_EQ(Filter().error, "failed filter with extender at URL http://x/filter, code 503");
  fake.Answer("http://x/filter", R"({"NodeNames":["a"]})");
  fake.Answer("http://y/filter", R"({"Error":"no idea"})");
  const FilterResult result = Filter();
  EXPECT_EQ(result.error, std::nullopt);
  EXPECT_THAT(Names(result.left), ElementsAre("a"));
  const auto troubles = extenders->TakeErrors();
  ASSERT_EQ(troubles.size(), 1U);
  EXPECT_EQ(troubles[0].error, "no idea");
}

TEST_F(ExtendersTest, NodesOutsideTheRequestAreAnError) {
  Configure({Filtering("http://x")});
  for (const char* body :
       {R"({"NodeNames":["ghost"]})", R"({"Nodes":{"items":[{"metadata":{"name":"ghost"}}]}})"}) {
    fake.Answer("http://x/filter", body);
    EXPECT_EQ(
        Filter().error,
        "extender \"http://x\" claims a filtered node \"ghost\" which is not found in the input node list");
  }
}

TEST_F(ExtendersTest, ManagedResourcesOfContainersAndInitContainersDetermineInterest) {
  config::ExtenderConfig config = Filtering("http://x");
  config.managed_resources = {{"example.com/nic", false}};
  Configure({config});
  fake.Answer("http://x/filter", R"({"NodeNames":["a"]})");
  Filter(MakePod().Cpu("1").Overhead("example.com/nic", "1"));
  EXPECT_THAT(fake.requests, IsEmpty());
  Filter(MakePod().Request("example.com/nic", "1"));
  Filter(MakePod().Container(MakeContainer().Limit("example.com/nic", "1")));
  Filter(MakePod().Init(MakeContainer().Request("example.com/nic", "1")));
  EXPECT_EQ(fake.requests.size(), 3U);
}

TEST_F(ExtendersTest, ScoresAreMultipliedByTenTimesTheWeightAndSummed) {
  Configure({Prioritizing("http://x", 3), Prioritizing("http://y", 1)});
  fake.Answer("http://x/prioritize",
              R"([{"Host":"a","Score":2},{"Host":"a","Score":1},{"Host":"ghost","Score":5}])");
  fake.Answer("http://y/prioritize", R"([{"Host":"b","Score":-4}])");
  const PrioritizeResult result = Prioritize();
  ASSERT_EQ(result.parts.size(), 2U);
  EXPECT_THAT(result.parts[0].contributions, ElementsAre(90, 0, 0));
  EXPECT_THAT(result.parts[1].contributions, ElementsAre(0, -40, 0));
  EXPECT_THAT(Names(result.answered), ElementsAre("a", "b"));
}

TEST_F(ExtendersTest, InvalidScoresAreIgnored) {
  Configure({Prioritizing("http://x", 1)});
  fake.Answer("http://x/prioritize", R"([{"Host":"a","Score":7.0}])");
  EXPECT_THAT(Prioritize().parts, IsEmpty());
  EXPECT_EQ(extenders->TakeErrors().size(), 1U);
}

TEST_F(ExtendersTest, AnExtenderWithoutPrioritizeCountsAsScoringAllNodes) {
  Configure({Filtering("http://x")});
  const PrioritizeResult result = Prioritize();
  EXPECT_THAT(result.parts, IsEmpty());
  EXPECT_THAT(Names(result.answered), ElementsAre("a", "b", "c"));
}

TEST_F(ExtendersTest, TheWaitEndsWhenItIsCancelled) {
  Configure({Filtering("http://x", true)});
  int pending = 0;
  extenders->SetKeepWaiting([&] { return ++pending < 2; });
  const FilterResult result = Filter();
  EXPECT_TRUE(extenders->wait_cancelled());
  EXPECT_TRUE(result.error.has_value()) << "not even an ignorable extender is passed over then";
  EXPECT_EQ(fake.cancelled, 1U);
  extenders.reset();
  // after the end of the wait: no effect
  for (Transport::Done& done : fake.unanswered) done(Reply{200, "{}"});
}

TEST_F(ExtendersTest, TimeoutsDefaultToFiveSeconds) {
  config::ExtenderConfig given = Filtering("http://given"), none = Filtering("http://none");
  given.http_timeout = std::chrono::milliseconds(200);
  none.http_timeout = std::chrono::seconds(-1);
  Configure({given, none, Filtering("http://unset")});
  for (const char* name : {"given", "none", "unset"})
    fake.Answer("http://" + std::string(name) + "/filter", R"({"NodeNames":["a"]})");
  Filter();
  ASSERT_EQ(fake.requests.size(), 3U);
  EXPECT_EQ(fake.requests[0].timeout, std::chrono::milliseconds(200));
  EXPECT_EQ(fake.requests[1].timeout, Duration::zero());
  EXPECT_EQ(fake.requests[2].timeout, std::chrono::seconds(5));
}

TEST_F(ExtendersTest, TheCircuitOpensAfterConsecutiveFailuresAndRetriesAfterAPause) {
  Configure({Filtering("http://x")}, {.failures = 2, .pause = std::chrono::seconds(10)});
  fake.Answer("http://x/filter", "rubbish");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Filter().error);
  EXPECT_EQ(fake.requests.size(), 2U);
  EXPECT_THAT(*Filter().error, HasSubstr("is not called for 10 s"));
  clock.Advance(std::chrono::seconds(10));
  fake.Answer("http://x/filter", R"({"NodeNames":["a"]})");
  EXPECT_FALSE(Filter().error);
  EXPECT_FALSE(Filter().error);
  EXPECT_EQ(fake.requests.size(), 4U);
}

TEST_F(ExtendersTest, ObjectTextsAreKeptOnlyIfExtendersNeedThem) {
  const auto texts = [&](const config::ExtenderConfig& config) {
    Configure({config});
    const api::RetainedTexts keep = extenders->texts();
    return std::array<bool, 3>{keep.nodes, keep.waiting_pods, keep.placed_pods};
  };
  config::ExtenderConfig binder = At("http://x");
  binder.bind_verb = "bind";
  EXPECT_THAT(texts(binder), ElementsAre(false, false, false));
  EXPECT_THAT(texts(Filtering("http://x")), ElementsAre(false, true, false));
  config::ExtenderConfig whole = Filtering("http://x");
  whole.node_cache_capable = false;
  EXPECT_THAT(texts(whole), ElementsAre(true, true, false));
  whole.preempt_verb = "preempt";
  EXPECT_THAT(texts(whole), ElementsAre(true, true, true));
}

// --- preempt ---

TEST_F(ExtendersTest, VictimsAreReplacedByThoseOfTheExtender) {
  cluster.Run("a", MakePod("low").Uid("u-low"));
  cluster.Run("b", MakePod("other").Uid("u-other"));
  config::ExtenderConfig config = At("http://x");
  config.preempt_verb = "preempt";
  const auto review = [&](const char* body, bool ignorable) {
    config.ignorable = ignorable;
    Configure({config});
    fake.Answer("http://x/preempt", body);
    std::vector<framework::PreemptionCandidate> candidates{{0, {cluster.nodes().pods(0)[0]}, 0}};
    const framework::Status status = extenders->Review(cluster.Prepare(MakePod()), candidates);
    std::string text = status.ok() ? "" : status.Message();
    for (const auto& candidate : candidates) {
      text += "(" + cluster.nodes().name(candidate.row) + " " + std::to_string(candidate.violations) + ")";
      for (const auto* victim : candidate.victims) text += victim->pod->metadata.name;
    }
    return text;
  };
  EXPECT_EQ(
      review(R"({"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u-other"}],"NumPDBViolations":4}}})", false),
      "(b 4)other");
  EXPECT_EQ(review("{}", false), "");
  EXPECT_THAT(review(R"({"NodeNameToMetaVictims":{"b":null}})", false),
              HasSubstr("expected at least one victim pod on node \"b\""));
  EXPECT_EQ(review(R"({"NodeNameToMetaVictims":{"b":null}})", true), "");
  EXPECT_THAT(review(R"({"NodeNameToMetaVictims":{"ghost":{"Pods":[]}}})", false),
              HasSubstr("nodeinfo not found for node name \"ghost\""));
  EXPECT_THAT(review(R"({"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u-low"}]}}})", false),
              HasSubstr("extender: http://x claims to preempt pod (UID: &{u-low}) on node: b, but the pod is "
                        "not found on that node"));
  EXPECT_EQ(review("rubbish", true), "(a 0)low") << "an ignorable extender that fails is passed over";
}

// --- TLS ---

TEST(TlsTest, EnableHttpsWithoutAnAuthorityDisablesVerification) {
  const Environment fake{.read_file = [](const std::string& path) -> Expected<std::string> {
                           return Fail(ErrorCode::kNotFound, "open " + path + ": no such file or directory");
                         },
                         .variable = [](const std::string&) { return std::nullopt; }};
  config::ExtenderConfig config;
  EXPECT_FALSE(TlsOf(config, fake)->insecure);
  config.enable_https = true;
  EXPECT_TRUE(TlsOf(config, fake)->insecure);
  config.enable_https = false;
  config.tls = config::ExtenderTls{};
  config.tls->server_name = "other";
  EXPECT_EQ(TlsOf(config, fake)->server_name, "other");
  config.tls->insecure = true;
  EXPECT_TRUE(TlsOf(config, fake)->insecure);
  config.tls->ca_file = "/ca";
  EXPECT_EQ(TlsOf(config, fake).error().message,
            "specifying a root certificates file with the insecure flag is not allowed");
  config.tls->insecure = false;
  EXPECT_EQ(TlsOf(config, fake).error().message, "open /ca: no such file or directory");
}

}  // namespace
}  // namespace berth::extenders
