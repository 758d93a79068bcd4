// The HTTP API of a scheduler: paths, parameters, limits and permissions. The reports themselves are tested
// in scheduler/introspection, scheduler/explanation and scheduler/evaluation.
#include "process/scheduler_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/fake_scheduler_api.hpp"

namespace berth::process {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::HasSubstr;
using ::testing::Not;

class SchedulerApiTest : public ::testing::Test {
 protected:
  SchedulerApiTest() { fake_.Add(MakePod("web").Cpu("4").Share()); }
  http::Response Get(const std::string& path, http::Headers headers = {}, std::string method = "GET") {
    return fake_.Get(path, std::move(headers), std::move(method));
  }
  std::optional<service::Attributes> Sufficient(const std::string& path) {
    const http::Request request{"GET", std::string(kSchedulerApiRoot) + path, {}, ""};
    return fake_.endpoints.SufficientAccess(request, *service::ParseTarget(request.target));
  }

  FakeSchedulerApi fake_;
};

TEST_F(SchedulerApiTest, ServesItsPaths) {
  fake_.Add(MakeNode("n1").Cpu("1").Share());
  EXPECT_THAT(*Get("status").body, HasSubstr(R"("leading":true,"synced":true)"));
  EXPECT_THAT(*Get("queue").body, HasSubstr(R"("total":1)"));
  EXPECT_THAT(*Get("plugins").body, HasSubstr(R"("name":"default-scheduler")"));
  EXPECT_THAT(*Get("nodes").body, HasSubstr(R"("total":1,"remaining":0)"));
  EXPECT_THAT(*Get("preemptions").body, HasSubstr(R"("preemptions":[])"));
  EXPECT_THAT(*Get("nodes/n1").body, HasSubstr(R"("name":"n1")"));
  EXPECT_THAT(*Get("pods/default/web").body, HasSubstr(R"("name":"web")"));
  const http::Response explanation = Get("pods/default/web/explanation");
  EXPECT_EQ(explanation.status, 200);
  EXPECT_EQ(explanation.content_type, "application/json");
  EXPECT_THAT(*explanation.body, HasSubstr(R"("steps":["lower the cpu request from 4 to 1"])"));
}

TEST_F(SchedulerApiTest, WrongRequestsAreExplained) {
  struct Case {
    std::string target;
    int status;
    std::string message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", 404, "expected /apis/berth.dev/v1alpha1/status"},
           {"pods/default", 404, "pods/NAMESPACE/NAME"},
           {"pods/default/a/b", 404, "pods/NAMESPACE/NAME"},
           {"pods/default/a/explanation/b", 404, "pods/NAMESPACE/NAME"},
           {"pods/default/a/retry/b", 404, "pods/NAMESPACE/NAME/retry"},
           {"nodes/a/b", 404, "nodes/NAME"},
           {"nodes?limit=5001", 400, "limit: invalid value \\\"5001\\\": expected a number of at most 5000"},
           {"pods/default/gone", 404, "is not pending in this scheduler"},
           {"pods/default/gone/explanation", 404, "is neither pending in this scheduler nor on a node"},
           {"nodes/gone", 404, "node \\\"gone\\\" is not known to this scheduler"},
           {"pods/default/web?view=all", 400,
            "view: invalid value \\\"all\\\": expected summary, nodes or records"},
           {"pods/default/web/explanation?view=records", 400,
            "view: invalid value \\\"records\\\": expected summary or nodes"},
           {"nodes/n1?view=nodes", 400, "view: invalid value \\\"nodes\\\": expected summary or pods"},
           {"pods/default/web?attempts=11", 400, "attempts: invalid value \\\"11\\\": expected 0 to 10"},
           {"queue?limit=1001", 400, "limit: invalid value \\\"1001\\\": expected a number of at most 1000"},
           {"queue?offset=x", 400, "offset: invalid value \\\"x\\\": expected a number"}}) {
    const http::Response response = Get(c.target);
    EXPECT_EQ(response.status, c.status) << c.target;
    EXPECT_THAT(*response.body, HasSubstr(c.message)) << c.target;
  }
  EXPECT_EQ(Get("status", {}, "POST").status, 405);
  EXPECT_EQ(Get("pods/default/web", {}, "POST").status, 405);
  EXPECT_EQ(Get("pods/default/web/retry").status, 405);
}

TEST_F(SchedulerApiTest, RetriesAPodAtOnce) {
  const auto state = [&] { return std::string(*Get("pods/default/web").body); };
  fake_.Add(MakeNode("small").Cpu("1").Share());
  fake_.run.Wait(std::chrono::seconds(2));
  ASSERT_THAT(state(), HasSubstr(R"("place":"unschedulable")"));
  ASSERT_THAT(state(), HasSubstr(R"("attempts":2,)"));
  const http::Response retried = Get("pods/default/web/retry", {}, "POST");
  EXPECT_EQ(retried.status, 200);
  EXPECT_EQ(*retried.body, R"({"outcome":"retried"})");
  EXPECT_THAT(state(), HasSubstr(R"("attempts":3,)")) << "without an event";
}

TEST_F(SchedulerApiTest, PodsThatCannotBeRetriedAreExplained) {
  fake_.Add(MakePod("gated").Gate("example.com/hold").Share());
  const http::Response gated = Get("pods/default/gated/retry", {}, "POST");
  EXPECT_EQ(gated.status, 409);
  EXPECT_THAT(*gated.body, HasSubstr("held by PreEnqueue plugins"));
  const http::Response unknown = Get("pods/default/gone/retry", {}, "POST");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(*unknown.body, HasSubstr("is not pending in this scheduler"));
  const http::Response page = Get("pods/default/web/retry", {{"Origin", "https://example.com"}}, "POST");
  EXPECT_EQ(page.status, 403);
  EXPECT_THAT(*page.body, HasSubstr("requests of web pages are refused"));
  fake_.leading = false;
  EXPECT_EQ(Get("pods/default/web/retry", {}, "POST").status, 409) << "a standby decides nothing";
}

TEST_F(SchedulerApiTest, OnlySomeRetriesPerSecondAreAccepted) {
  for (int i = 0; i < PodRetries::kMostPerSecond; ++i)
    EXPECT_EQ(Get("pods/default/web/retry", {}, "POST").status, 200) << i;
  const http::Response refused = Get("pods/default/web/retry", {}, "POST");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.Find("Retry-After"), "1");
  fake_.run.Wait(std::chrono::seconds(1));
  EXPECT_EQ(Get("pods/default/web/retry", {}, "POST").status, 200);
}

TEST(SchedulerApi, RetriesNothingUnlessEnabled) {
  FakeSchedulerApi fake(false);
  fake.Add(MakePod("web").Cpu("4").Share());
  const http::Response refused = fake.Get("pods/default/web/retry", {}, "POST");
  EXPECT_EQ(refused.status, 405);
  EXPECT_THAT(*refused.body, HasSubstr("--berth-api-retry"));
}

TEST_F(SchedulerApiTest, AnUnchangedResponseIsNotSentAgain) {
  const std::string tag(Get("pods/default/web").headers.Find("ETag"));
  EXPECT_EQ(Get("pods/default/web", {{"If-None-Match", tag}}).status, 304);
  fake_.Add(MakeNode("n").Share());
  fake_.run.Wait(std::chrono::seconds(15));
  EXPECT_EQ(Get("pods/default/web", {{"If-None-Match", tag}}).status, 200);
}

TEST_F(SchedulerApiTest, OnlyAFewRequestsAreServedAtTheSameTime) {
  const std::string status = std::string(kSchedulerApiRoot) + "status";
  std::vector<std::future<http::Response>> waiting;
  for (int i = 0; i < SchedulerApi::kMostRequests; ++i) waiting.push_back(fake_.Ask(status));
  const http::Response refused = fake_.Ask(status).get();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.Find("Retry-After"), "1");
  fake_.run.Settle();
  for (auto& one : waiting) EXPECT_EQ(one.get().status, 200);
  EXPECT_EQ(Get("status").status, 200) << "the places are free again";
}

TEST_F(SchedulerApiTest, FewerOfThemMayWaitForAnEvaluation) {
  const std::string explanation = std::string(kSchedulerApiRoot) + "pods/default/web/explanation";
  std::vector<std::future<http::Response>> waiting;
  for (std::size_t i = 0; i < evaluation::PodExplainer::kMostWaiting; ++i)
    waiting.push_back(fake_.Ask(explanation));
  const http::Response refused = fake_.Ask(explanation).get();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.Find("Retry-After"), "1");
  EXPECT_EQ(Get("status").status, 200) << "other requests are served";
  for (auto& one : waiting) {
    while (one.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) fake_.run.Settle();
    EXPECT_EQ(one.get().status, 200);
  }
  EXPECT_EQ(Get("pods/default/web/explanation").status, 200) << "the places are free again";
}

TEST_F(SchedulerApiTest, AtTheEndEvaluationsThatWaitAreRefused) {
  const std::string explanation = std::string(kSchedulerApiRoot) + "pods/default/web/explanation";
  std::future<http::Response> waiting = fake_.Ask(explanation);
  fake_.explainer->End();
  const http::Response refused = waiting.get();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(*refused.body, HasSubstr("the scheduler is ending"));
}

TEST_F(SchedulerApiTest, AccessToAnObjectSufficesForItsSummaryOnly) {
  for (const auto* path : {"pods/shop/web", "pods/shop/web?view=summary", "pods/shop/web/explanation"}) {
    const auto pod = Sufficient(path);
    ASSERT_TRUE(pod && pod->resource) << path;
    EXPECT_EQ(pod->verb, "get");
    EXPECT_EQ(pod->resource->resource, "pods");
    EXPECT_EQ(pod->resource->ns, "shop");
    EXPECT_EQ(pod->resource->name, "web");
  }
  const auto node = Sufficient("nodes/n1");
  ASSERT_TRUE(node && node->resource);
  EXPECT_EQ(node->verb, "get");
  EXPECT_EQ(node->resource->resource, "nodes");
  EXPECT_EQ(node->resource->ns, "");
  EXPECT_EQ(node->resource->name, "n1");
  const auto nodes = Sufficient("nodes?limit=10");
  ASSERT_TRUE(nodes && nodes->resource);
  EXPECT_EQ(nodes->verb, "list");
  EXPECT_EQ(nodes->resource->resource, "nodes");
  EXPECT_EQ(nodes->resource->name, "");
  for (const auto* path :
       {"pods/shop/web?view=nodes", "pods/shop/web?view=records", "pods/shop/web/explanation?view=nodes",
        "nodes/n1?view=pods", "queue", "status", "plugins", "preemptions", "pods/shop", "pods//web",
        "pods/shop/web/log", "pods/shop/web/retry"})
    EXPECT_FALSE(Sufficient(path)) << path;
}

// Kubernetes grants every authenticated user access to /apis/*.
TEST_F(SchedulerApiTest, AccessToOtherPathsIsReviewedThanThoseOfDiscovery) {
  const auto reviewed = [&](const char* path) {
    return fake_.endpoints.ReviewedPath(*service::ParseTarget(path));
  };
  EXPECT_EQ(reviewed("/apis/berth.dev/v1alpha1/pods/shop/web?view=nodes"),
            "/berth.dev/v1alpha1/pods/shop/web");
  EXPECT_EQ(reviewed("/apis/berth.dev/v1alpha1/queue"), "/berth.dev/v1alpha1/queue");
  EXPECT_EQ(reviewed("/apis/berth.dev/v1alpha1/"), "/berth.dev/v1alpha1/");
  EXPECT_EQ(reviewed("/apis/apps/v1"), "/apis/apps/v1");
  EXPECT_EQ(reviewed("/openapi/v3"), "/openapi/v3");
}

TEST_F(SchedulerApiTest, TheDocumentIsServed) {
  const http::Request request{"GET", "/openapi/v3", {}, ""};
  std::string body;
  fake_.endpoints.Answer(request, *service::ParseTarget(request.target),
                         [&](const http::Response& response) { body = *response.body; });
  EXPECT_THAT(body, HasSubstr(R"("openapi": "3.0.3")"));
}

TEST_F(SchedulerApiTest, EachRequestIsLoggedWithItsUser) {
  ::testing::internal::CaptureStderr();
  Get("pods/default/web");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("\"Scheduler API request\" user=\"ann\" method=\"GET\" "
                        "URI=\"/apis/berth.dev/v1alpha1/pods/default/web\" status=200"));
}

TEST_F(SchedulerApiTest, RequestsAfterItsEndAreNotFound) {
  fake_.api.reset();
  EXPECT_EQ(Get("status").status, 404);
}

}  // namespace
}  // namespace berth::process
