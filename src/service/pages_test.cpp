// Pages other than health and metrics, and their formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_loop.hpp"
#include "http/gzip.hpp"
#include "observability/metrics/registry.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"
#include "service/pod_resources.hpp"
#include "service/profiling/pprof.hpp"
#include "service/profiling/profile_proto.hpp"
#include "service/profiling/sampler.hpp"
#include "service/tls_settings.hpp"
#include "service/zpages.hpp"
#include "testing/builders.hpp"

namespace berth::service {
namespace {

using berth::testing::MakeContainer;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

struct PageRequest {
  std::string target, accept;
  std::string agent = "";
};

http::Request RequestOf(const PageRequest& page) {
  http::Request request;
  request.method = "GET";
  request.target = page.target;
  if (!page.accept.empty()) request.headers.Add("Accept", page.accept);
  if (!page.agent.empty()) request.headers.Add("User-Agent", page.agent);
  return request;
}

class Pages : public ::testing::Test {
 protected:
  http::Response Get(const PageRequest& page) {
    const http::Request request = RequestOf(page);
    http::Response answer;
    endpoints_.Answer(request, *ParseTarget(request.target),
                      [&](http::Response r) { answer = std::move(r); });
    return answer;
  }
  metrics::Registry registry_;
  Endpoints endpoints_{registry_};
  const SystemClock clock_;
};

TEST(Targets, AreParsedLikeGo) {
  const auto target = ParseTarget("/a%2Fb+c?x=1+2&y&z=%41&bad=%4&s;t=1");
  EXPECT_EQ(target->path, "/a/b+c");
  EXPECT_EQ(target->Get("x"), "1 2");
  EXPECT_TRUE(target->Has("y"));
  EXPECT_EQ(target->Get("z"), "A");
  EXPECT_FALSE(target->Has("bad") || target->Has("s;t"));
  EXPECT_EQ(ParseTarget("http://host:1/p?q")->path, "/p");
  EXPECT_EQ(ParseTarget("http://host")->path, "/");
  for (const char* wrong : {"", "*", "a", "/%", "/%zz", "/%4", "/a\tb"})
    EXPECT_FALSE(ParseTarget(wrong)) << wrong;
}

TEST(Accepting, IsSortedByQualityThenBySpecificity) {
  std::vector<std::string> types;
  for (const auto& range :
       ParseAccept("*/*;q=0.8, text/html ;q=0.9, a/*, b/c;x=1, nonsense, d/e/f, text/plain;q=no")) {
    types.push_back(range.type + "/" + range.subtype);
  }
  EXPECT_THAT(types, ElementsAre("b/c", "a/*", "text/html", "text/plain", "*/*"));
}

TEST(Accepting, RangesAfterTheFirst64AreIgnored) {
  std::string header = "a/b;q=0.5";
  for (int i = 0; i < 5000; ++i) header += ",c/d";
  const auto ranges = ParseAccept(header);
  EXPECT_EQ(ranges.size(), 64U);
  EXPECT_EQ(ranges.back().type, "a");
}

TEST(Statuses, HaveTheNegotiatedFormat) {
  const StatusText status{.code = 403, .reason = "Forbidden", .message = "it's: no", .with_details = true};
  const auto answer = [&](const PageRequest& page) {
    return StatusAnswer(RequestOf(page), *ParseTarget(page.target), status);
  };
  EXPECT_THAT(*answer({"/", ""}).body, StartsWith("{\"kind\":\"Status\","));
  EXPECT_THAT(*answer({"/", "", "curl/8"}).body, StartsWith("{\n  \"kind\": \"Status\",\n"));
  EXPECT_THAT(*answer({"/?pretty=1", ""}).body, StartsWith("{\n"));
  EXPECT_THAT(*answer({"/?pretty=false", "", "curl/8"}).body, StartsWith("{\"kind\""));
  EXPECT_EQ(*answer({"/", "application/yaml"}).body,
            "apiVersion: v1\ncode: 403\ndetails: {}\nkind: Status\nmessage: 'it''s: no'\nmetadata: {}\n"
            "reason: Forbidden\nstatus: Failure\n");
  EXPECT_THAT(*answer({"/", "application/vnd.kubernetes.protobuf"}).body,
              StartsWith(std::string("k8s\0", 4)));
  EXPECT_EQ(answer({"/", "text/html"}).content_type, "application/json") << "an error must not get lost";
}

TEST_F(Pages, MetricsAreCompressedOnRequest) {
  registry_.Counter("x_total", "help").Add(3);
  auto request = RequestOf({"/metrics", "text/plain;escaping=allow-utf-8"});
  request.headers.Add("Accept-Encoding", "deflate, gzip;q=0.8");
  const auto answer = MetricsAnswer(request, registry_.Expose());
  EXPECT_EQ(answer.headers.Find("Content-Encoding"), "gzip");
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8");
  EXPECT_THAT(http::Gunzip(*answer.body, 1 << 20).value_or(""), HasSubstr("x_total 3\n"));
  for (const char* not_gzip : {"", "identity", "br", "gzip;q=0", "gzip;q=0.1, *;q=0.5"}) {
    EXPECT_FALSE(http::PrefersGzip(not_gzip)) << not_gzip;
  }
}

TEST_F(Pages, FlagsAndStatusAreServedAsTextOrObjects) {
  endpoints_.AddHealth("healthz", {});
  AddFlagz(endpoints_, [] { return std::map<std::string, std::string>{{"v", "0"}, {"a", "x<y"}}; });
  AddStatusz(endpoints_, {"1.37.1", "1.37"}, clock_);
  EXPECT_THAT(*Get({"/flagz", ""}).body, HasSubstr("purposes only.\na:x<y\nv:0\n"));
  EXPECT_THAT(
      *Get({"/statusz", ""}).body,
      HasSubstr("\nBinary version: 1.37.1\nEmulation version: 1.37\nPaths: /flagz /healthz /metrics\n"));
  const auto flags = Get({"/flagz", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"});
  EXPECT_EQ(*flags.body,
            R"({"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kube-scheduler"},)"
            R"("flags":{"a":"x\u003cy","v":"0"}})"
            "\n");
  EXPECT_EQ(flags.content_type, "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
  const auto yaml = Get({"/flagz", "application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz"});
  EXPECT_EQ(*yaml.body,
            "apiVersion: config.k8s.io/v1alpha1\nflags:\n  a: x<y\n  v: \"0\"\nkind: Flagz\nmetadata:\n"
            "  name: kube-scheduler\n");
  EXPECT_THAT(std::string(yaml.headers.Find("Warning")), HasSubstr("deprecated"));
  for (const char* none : {"application/json", "text/html", "text/plain;as=Flagz",
                           "application/json;g=config.k8s.io;v=v9;as=Flagz"}) {
    EXPECT_EQ(Get({"/flagz", none}).status, 406) << none;
  }
}

TEST(PodResources, AreFormattedLikeKubeScheduler) {
  auto pod = MakePod("a").OnNode("n").Priority(7).Container(
      MakeContainer().Request("cpu", "300m").Limit("cpu", "1").Memory("1Gi").Request("example.com/x", "0"));
  const auto ended = MakePod("b").OnNode("n").Cpu("1").Phase("Succeeded");
  EXPECT_EQ(PodResourcesText({}), "");
  EXPECT_EQ(
      PodResourcesText({ended.Share(), pod.Share()}),
      "# HELP kube_pod_resource_limit [STABLE] Resources limit for workloads on the cluster, broken down by "
      "pod. "
      "This shows the resource usage the scheduler and kubelet expect per pod for resources along with the "
      "unit "
      "for the resource if any.\n# TYPE kube_pod_resource_limit gauge\n"
      "kube_pod_resource_limit{namespace=\"default\",node=\"n\",pod=\"a\",priority=\"7\",resource=\"cpu\","
      "scheduler=\"default-scheduler\",unit=\"cores\"} 1\n"
      "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads on the cluster, broken "
      "down by "
      "pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with "
      "the "
      "unit for the resource if any.\n# TYPE kube_pod_resource_request gauge\n"
      "kube_pod_resource_request{namespace=\"default\",node=\"n\",pod=\"a\",priority=\"7\",resource=\"cpu\","
      "scheduler=\"default-scheduler\",unit=\"cores\"} 0.3\n"
      "kube_pod_resource_request{namespace=\"default\",node=\"n\",pod=\"a\",priority=\"7\",resource="
      "\"memory\","
      "scheduler=\"default-scheduler\",unit=\"bytes\"} 1.073741824e+09\n");
}

TEST_F(Pages, PodResourcesAreServedOnceThePodsAreAvailable) {
  std::vector<std::move_only_function<void(std::vector<api::PodPtr>)>> taken;
  bool leading = false;
  std::vector<std::string> answers;
  {
    PodResources page(
        endpoints_, [&] { return leading; }, [&](auto take) { taken.push_back(std::move(take)); });
    EXPECT_EQ(*Get({"/metrics/resources", ""}).body, "") << "only a leader serves it";
    leading = true;
    for (int i = 0; i < 2; ++i) {
      const auto request = RequestOf({"/metrics/resources", ""});
      endpoints_.Answer(request, *ParseTarget(request.target),
                        [&](http::Response r) { answers.push_back(*r.body); });
    }
    ASSERT_EQ(taken.size(), 1u) << "two clients, one request";
    taken[0]({MakePod("a").OnNode("n").Cpu("1").Share()});
  }
  ASSERT_EQ(answers.size(), 2u) << "leaving waits for what is being written";
  EXPECT_THAT(answers[1], HasSubstr("pod=\"a\""));
  taken[0]({});  // too late: the client has disconnected
}

TEST_F(Pages, UnsupportedProfilesAreUnknown) {
  http::FakeLoop loop;
  Pprof pprof(endpoints_, loop, clock_);
  EXPECT_EQ(Get({"/debug/pprof", ""}).status, 302);
  EXPECT_THAT(*Get({"/debug/pprof/", ""}).body, HasSubstr("<a href='profile'>"));
  for (const char* name : {"heap", "goroutine", "cmdline", "x/y"}) {
    const auto answer = Get({std::string("/debug/pprof/") + name, ""});
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(*answer.body, "Unknown profile\n");
  }
}

TEST_F(Pages, SymbolsAreResolved) {
  http::FakeLoop loop;
  Pprof pprof(endpoints_, loop, clock_);
  EXPECT_EQ(*Get({"/debug/pprof/symbol", ""}).body, "num_symbols: 1\n");
  const auto address = reinterpret_cast<std::uintptr_t>(&http::Gzip);
  EXPECT_THAT(*Get({fmt::format("/debug/pprof/symbol?{:#x}+0x1+rubbish", address), ""}).body,
              HasSubstr(fmt::format("{:#x} berth::http::Gzip", address)));
}

TEST(Profiles, ContainTheSampledStacks) {
  const Symbols symbols;
  const auto address = reinterpret_cast<std::uintptr_t>(&http::Gzip) + 1;
  const std::vector<std::vector<std::uint64_t>> stacks = {{address}, {address}, {address, 2}};
  const std::string profile = WriteProfile(stacks, 10ms, WallTime(1s), 2s, symbols, ExecutableMappings());
  EXPECT_THAT(profile, HasSubstr("nanoseconds"));
  EXPECT_THAT(profile, HasSubstr("berth::http::Gzip"));
  // Two stacks: one counted twice, twenty milliseconds.
  EXPECT_THAT(profile, HasSubstr(std::string("\x12\x05\x02\x80\xDA\xC4\x09", 7)));
}

TEST(Profiles, AreTakenOneAtATime) {
  auto sampler = Sampler::Start(1000);
  ASSERT_NE(sampler, nullptr);
  EXPECT_EQ(Sampler::Start(), nullptr);
  std::uint64_t sum = 0;
  std::vector<Sampler::Stack> stacks;
  const auto began = std::clock();
  while (std::clock() - began < CLOCKS_PER_SEC / 5) {
    for (int i = 0; i < 100'000; ++i) sum = sum * 31 + static_cast<std::uint64_t>(i);
  }
  stacks = sampler->Finish();
  EXPECT_FALSE(stacks.empty()) << sum;
  sampler.reset();
  EXPECT_NE(Sampler::Start(10), nullptr);
}

TEST(CipherSuites, AreTranslated) {
  http::ServerTlsOptions tls;
  ASSERT_TRUE(SetCipherSuites({"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_AES_128_GCM_SHA256",
                               "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"},
                              tls));
  EXPECT_EQ(tls.ciphers, "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305");
  http::ServerTlsOptions standard;
  ASSERT_TRUE(SetCipherSuites({}, standard));
  EXPECT_THAT(standard.ciphers, StartsWith("ECDHE-ECDSA-AES128-GCM-SHA256:"));
  EXPECT_THAT(standard.ciphers, ::testing::Not(HasSubstr(":AES128")));
  EXPECT_EQ(std::ranges::count(standard.ciphers, ':'), 9);
}

TEST(Curves, AreTranslated) {
  http::ServerTlsOptions tls;
  ASSERT_TRUE(SetCurves({24, 29, 4588}, tls));
  EXPECT_EQ(tls.groups, "X25519:P-384");
  http::ServerTlsOptions other;
  EXPECT_EQ(SetCurves({0}, other).error().message, "curve preference 0 is out of range (must be 1-65535)");
  EXPECT_EQ(SetCurves({1}, other).error().message,
            "curve preference 1 is not supported by the current Go version");
  EXPECT_FALSE(SetCurves({4588}, other));
}

TEST(NamedCertificates, ArePairsOfFilesWithNames) {
  const auto files = ParseNamedCertificate(" a.crt , a.key :*.a.test, b.test");
  EXPECT_EQ(files->certificate, "a.crt");
  EXPECT_EQ(files->key, "a.key");
  EXPECT_THAT(files->names, ElementsAre("*.a.test", "b.test"));
  for (const char* wrong : {"", "a", "a,b,c", "a,b:"}) EXPECT_FALSE(ParseNamedCertificate(wrong)) << wrong;
}

}  // namespace
}  // namespace berth::service
