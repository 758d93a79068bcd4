// The HTTP API of a scheduler: paths, parameters, limits and permissions. The reports themselves are tested
// in scheduler/introspection.
#include "process/scheduler_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::process {
namespace {

using berth::testing::MakePod;
using ::testing::HasSubstr;

class SchedulerApiTest : public ::testing::Test {
 protected:
  SchedulerApiTest() {
    run_.Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins());
    run_.loop.sink().OnSynced();
    run_.loop.sink().On(ports::Change<api::Pod>{nullptr, MakePod("web").Share()});
    run_.Settle();
    api_.emplace(endpoints_,
                 SchedulerApi::Parts{
                     introspection::Inspector({run_.loop, *run_.scheduler, run_.engine->profiles(),
                                               run_.engine->reasons(), run_.clock, std::chrono::minutes(5)}),
                     [] { return true; }});
  }
  std::future<http::Response> Ask(const std::string& target, http::Headers headers = {},
                                  std::string method = "GET") {
    const auto promise = std::make_shared<std::promise<http::Response>>();
    const http::Request request{std::move(method), target, std::move(headers), ""};
    endpoints_.Answer(request, *service::ParseTarget(target),
                      [promise](http::Response response) { promise->set_value(std::move(response)); });
    return promise->get_future();
  }
  http::Response Get(const std::string& target, http::Headers headers = {}, std::string method = "GET") {
    auto response = Ask(kRoot + target, std::move(headers), std::move(method));
    run_.Settle();
    return response.get();
  }
  std::optional<service::Attributes> Sufficient(const std::string& target) {
    const http::Request request{"GET", kRoot + target, {}, ""};
    return endpoints_.SufficientAccess(request, *service::ParseTarget(request.target));
  }

  const std::string kRoot = "/apis/berth.dev/v1alpha1/";
  metrics::Registry metrics_;
  service::Endpoints endpoints_{metrics_};
  cycle::SchedulerEnvironment run_;
  std::optional<SchedulerApi> api_;
};

TEST_F(SchedulerApiTest, ServesItsPaths) {
  EXPECT_THAT(*Get("status").body, HasSubstr(R"("leading":true,"synced":true)"));
  EXPECT_THAT(*Get("queue").body, HasSubstr(R"("total":1)"));
  const http::Response pod = Get("pods/default/web");
  EXPECT_EQ(pod.status, 200);
  EXPECT_EQ(pod.content_type, "application/json");
  EXPECT_THAT(*pod.body, HasSubstr(R"("name":"web")"));
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
           {"pods/default/gone", 404, "is not pending in this scheduler"},
           {"pods/default/web?view=all", 400,
            "view: invalid value \\\"all\\\": expected summary, nodes or records"},
           {"pods/default/web?attempts=11", 400, "attempts: invalid value \\\"11\\\": expected 0 to 10"},
           {"queue?limit=1001", 400, "limit: invalid value \\\"1001\\\": expected a number of at most 1000"},
           {"queue?offset=x", 400, "offset: invalid value \\\"x\\\": expected a number"}}) {
    const http::Response response = Get(c.target);
    EXPECT_EQ(response.status, c.status) << c.target;
    EXPECT_THAT(*response.body, HasSubstr(c.message)) << c.target;
  }
  EXPECT_EQ(Get("status", {}, "POST").status, 405);
}

TEST_F(SchedulerApiTest, AnUnchangedResponseIsNotSentAgain) {
  const std::string tag(Get("pods/default/web").headers.Find("ETag"));
  EXPECT_EQ(Get("pods/default/web", {{"If-None-Match", tag}}).status, 304);
  run_.loop.sink().On(
      ports::Change<api::Node>{nullptr, std::make_shared<const api::Node>(berth::testing::MakeNode("n"))});
  run_.Wait(std::chrono::seconds(15));
  EXPECT_EQ(Get("pods/default/web", {{"If-None-Match", tag}}).status, 200);
}

TEST_F(SchedulerApiTest, OnlyAFewRequestsAreServedAtTheSameTime) {
  std::vector<std::future<http::Response>> waiting;
  for (int i = 0; i < SchedulerApi::kMostRequests; ++i) waiting.push_back(Ask(kRoot + "status"));
  const http::Response refused = Ask(kRoot + "status").get();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.Find("Retry-After"), "1");
  run_.Settle();
  for (auto& one : waiting) EXPECT_EQ(one.get().status, 200);
  EXPECT_EQ(Get("status").status, 200) << "the places are free again";
}

TEST_F(SchedulerApiTest, WhoMayGetAPodMayReadItsSummaryOnly) {
  const auto pod = Sufficient("pods/shop/web");
  ASSERT_TRUE(pod && pod->resource);
  EXPECT_EQ(pod->verb, "get");
  EXPECT_EQ(pod->resource->resource, "pods");
  EXPECT_EQ(pod->resource->ns, "shop");
  EXPECT_EQ(pod->resource->name, "web");
  for (const auto* target : {"pods/shop/web?view=nodes", "pods/shop/web?view=records", "queue", "status",
                             "pods/shop", "pods//web", "pods/shop/web/log"})
    EXPECT_FALSE(Sufficient(target)) << target;
}

TEST_F(SchedulerApiTest, RequestsAfterItsEndAreNotFound) {
  api_.reset();
  EXPECT_EQ(Get("status").status, 404);
}

}  // namespace
}  // namespace berth::process
