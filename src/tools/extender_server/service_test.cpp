#include "tools/extender_server/service.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "http/fake_loop.hpp"
#include "http/server.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "service/endpoints.hpp"
#include "testing/fakes.hpp"

namespace berth::extender_server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* kServiceCluster =
    "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}\n";
constexpr const char* kQuestion =
    R"({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u"},"spec":{"containers":[{"name":"c"}]}},)"
    R"("NodeNames":["a"]})";

// Stores responses in order.
class Answers final : public http::Exchange {
 public:
  explicit Answers(std::vector<http::Response>& out) : out_(out) {}
  void Respond(http::Response response) override { out_.push_back(std::move(response)); }
  std::shared_ptr<http::Stream> StartStream(http::Response, std::size_t) override { return nullptr; }

 private:
  std::vector<http::Response>& out_;
};

// A service with one node. Work posted to the engine's thread is executed by RunPosted.
struct ServiceTest : ::testing::Test {
  ServiceTest() {
    std::vector<std::string> notes;
    explainer =
        *assembly::Explainer::Create(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), notes);
    EXPECT_TRUE(explainer->Load(kServiceCluster, "test", notes));
    explainer->FillCluster();
    evaluator.emplace(explainer->engine(), EvaluatorOptions{});
  }
  void Serve(ServiceOptions options) {
    service.emplace(std::move(options),
                    ServiceParts{.io = loop,
                                 .post = [this](auto work) { posted.push_back(std::move(work)); },
                                 .evaluator = *evaluator,
                                 .nominations = [] { return std::vector<runtime::Nomination>(); },
                                 .ready = [this] { return ready; },
                                 .api = api,
                                 .clock = loop.clock(),
                                 .metrics = registry,
                                 .endpoints = endpoints});
  }
  void Ask(const std::string& path, const std::string& body = kQuestion, const std::string& method = "POST",
           std::shared_ptr<const http::PeerCertificate> peer = nullptr) {
    service->Handle({.method = method, .target = path, .headers = {}, .body = body, .peer = std::move(peer)},
                    std::make_shared<Answers>(answers));
    loop.Run();
  }
  void RunPosted() {
    for (auto& work : std::exchange(posted, {})) work();
    loop.Run();
  }
  // The last response: status and text.
  std::string Last() const {
    if (answers.empty()) return "none";
    return fmt::format("{} {}", answers.back().status, *answers.back().body);
  }

  http::FakeLoop loop;
  metrics::Registry registry;
  service::Endpoints endpoints{registry};
  berth::testing::FakeApiWriter api;
  std::unique_ptr<assembly::Explainer> explainer;
  std::optional<extender_server::Evaluator> evaluator;
  std::vector<std::move_only_function<void()>> posted;
  std::vector<http::Response> answers;
  bool ready = true;
  std::optional<Service> service;
};

TEST_F(ServiceTest, RequestsAreEvaluatedInOrder) {
  Serve({.prefix = "/scheduler"});
  Ask("/scheduler/filter");
  EXPECT_THAT(answers, IsEmpty());
  RunPosted();
  EXPECT_EQ(
      Last(),
      R"(200 {"Nodes":null,"NodeNames":["a"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(answers.back().content_type, "application/json");
}

TEST_F(ServiceTest, RequestsAboveTheLimitGet429) {
  Serve({.prefix = "", .max_in_flight = 2});
  Ask("/filter");
  Ask("/prioritize");
  EXPECT_THAT(answers, IsEmpty());
  Ask("/filter");
  EXPECT_THAT(Last(), HasSubstr("429 2 requests are in progress"));
  EXPECT_EQ(answers.back().headers.Find("Retry-After"), "1");
  RunPosted();
  EXPECT_THAT(answers, SizeIs(3));
  Ask("/filter");
  RunPosted();
  EXPECT_THAT(Last(), HasSubstr("200 "));
}

TEST_F(ServiceTest, RequestsBeyondTheDeadlineGet503) {
  Serve({.prefix = "", .deadline = 2s});
  Ask("/filter");
  loop.Advance(3s);
  RunPosted();
  EXPECT_THAT(Last(), HasSubstr("503 not evaluated: waited 3.0 s in the queue, --deadline is 2.0 s"));
}

TEST_F(ServiceTest, RequestsBeforeTheInitialListsGet503) {
  ready = false;
  Serve({});
  Ask("/filter");
  EXPECT_THAT(Last(), HasSubstr("503 the initial lists from the API server are not complete yet"));
}

TEST_F(ServiceTest, ARequiredCertificateMustBeSignedByTheAuthority) {
  Serve({.prefix = "", .require_certificate = true});
  const auto peer = [](bool trusted) {
    http::PeerCertificate certificate;
    certificate.trusted = trusted;
    certificate.common_name = "kube-scheduler";
    return std::make_shared<const http::PeerCertificate>(certificate);
  };
  Ask("/filter");
  EXPECT_THAT(Last(), HasSubstr("401 "));
  Ask("/filter", kQuestion, "POST", peer(false));
  EXPECT_THAT(Last(), HasSubstr("401 "));
  Ask("/filter", kQuestion, "POST", peer(true));
  RunPosted();
  EXPECT_THAT(Last(), HasSubstr("200 "));
}

TEST_F(ServiceTest, InvalidRequestsGet400) {
  Serve({.prefix = "", .bind = false});
  const struct {
    const char *path, *body, *method, *answer;
  } cases[] = {
      {"/filter", kQuestion, "GET", "405 filter: expected POST, got GET"},
      {"/filter", "{", "POST", "400 filter: "},
      {"/filter", "", "POST", "400 filter: "},
      {"/bind", "{}", "POST", "404 /bind: expected /filter, /prioritize, /preempt, or /healthz"},
      {"/scheduler/filter", kQuestion, "POST", "404 "},
  };
  for (const auto& test : cases) {
    Ask(test.path, test.body, test.method);
    EXPECT_THAT(Last(), HasSubstr(test.answer)) << test.path << " " << test.body;
  }
  EXPECT_THAT(posted, IsEmpty());
}

TEST_F(ServiceTest, ABindingIsWrittenAndItsErrorReturned) {
  Serve({});
  const std::string bind = R"({"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"a"})";
  Ask("/bind", bind);
  ASSERT_THAT(api.bindings, SizeIs(1));
  EXPECT_EQ(api.bindings[0].node, "a");
  EXPECT_EQ(api.bindings[0].uid, "u");
  EXPECT_EQ(Last(), R"(200 {"Error":""})");
  api.answer = Fail(ErrorCode::kConflict, "pod p is already assigned");
  Ask("/bind", bind);
  EXPECT_EQ(Last(), R"(200 {"Error":"pod p is already assigned"})");
}

}  // namespace
}  // namespace berth::extender_server
