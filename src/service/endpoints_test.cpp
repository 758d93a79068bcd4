#include "service/endpoints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "service/process_metrics.hpp"
#include "service/server.hpp"

namespace berth::service {
namespace {

using testing::HasSubstr;

class EndpointsTest : public testing::Test {
 protected:
  EndpointsTest() {
    endpoints_.AddHealth("healthz", {});
    endpoints_.AddHealth("livez", {});
    endpoints_.AddHealth("readyz", {{"shutdown", [] { return std::optional<std::string>(); }},
                                    {"sched-handler-sync", [this] { return unready_; }}});
  }
  http::Response Get(std::string target, std::string method = "GET", std::string body = "") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    http::Response answer;
    const auto parsed = ParseTarget(request.target).value_or(Target{});
    endpoints_.Answer(request, parsed, [&](http::Response response) { answer = std::move(response); });
    return answer;
  }

  metrics::Registry registry_;
  Endpoints endpoints_{registry_};
  std::optional<std::string> unready_ = "handlers are not fully synchronized";
};

struct HealthCase {
  std::string name, target;
  bool ready;
  int status;
  std::string body;
};
class Health : public EndpointsTest, public testing::WithParamInterface<HealthCase> {};
TEST_P(Health, AnswersAsApiserverDoes) {
  if (GetParam().ready) unready_.reset();
  const auto answer = Get(GetParam().target);
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_EQ(*answer.body, GetParam().body);
  EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(answer.headers.Find("Cache-Control"), "no-cache, private");
}
INSTANTIATE_TEST_SUITE_P(
    Table, Health,
    testing::Values(
        HealthCase{"Ping", "/healthz", true, 200, "ok"}, HealthCase{"Livez", "/livez", false, 200, "ok"},
        HealthCase{"Ready", "/readyz", true, 200, "ok"},
        HealthCase{"Verbose", "/readyz?verbose", true, 200,
                   "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"},
        HealthCase{"FailureIsAlwaysVerboseWithoutReasons", "/readyz", false, 500,
                   "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"},
        HealthCase{"Excluded", "/readyz?verbose&exclude=sched-handler-sync", false, 200,
                   "[+]shutdown ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n"},
        HealthCase{"ExcludingTheUnknown", "/readyz?verbose=1&exclude=x&exclude=y", true, 200,
                   "[+]shutdown ok\n[+]sched-handler-sync ok\nwarn: some health checks cannot be excluded: "
                   "no matches "
                   "for \"x\",\"y\"\nreadyz check passed\n"},
        HealthCase{"OneCheckThatHolds", "/readyz/shutdown", false, 200, "ok"},
        HealthCase{"ASingleFailedCheckHasItsReason", "/readyz/sched-handler-sync", false, 500,
                   "internal server error: handlers are not fully synchronized\n"},
        HealthCase{"ACheckThatIsNotThere", "/readyz/ping", true, 404, "404 page not found\n"},
        HealthCase{"AnUnknownPath", "/", true, 404, "404 page not found\n"},
        HealthCase{"NoPathAtAll", "*", true, 404, "404 page not found\n"}),
    [](const auto& row) { return row.param.name; });

TEST_F(EndpointsTest, MetricsAreShownAndReset) {
  registry_.Counter("x_total", "help").Add(3);
  const auto answer = Get("/metrics");
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
  EXPECT_THAT(*answer.body, HasSubstr("x_total 3\n"));
  EXPECT_EQ(*Get("/metrics", "DELETE").body, "metrics reset\n");
  EXPECT_THAT(*Get("/metrics").body, HasSubstr("x_total 0\n"));
}

TEST_F(EndpointsTest, HealthChecksAreCountedSeparately) {
  Get("/readyz");
  const auto text = *Get("/metrics/slis").body;
  EXPECT_THAT(text, HasSubstr("kubernetes_healthcheck{name=\"sched-handler-sync\",type=\"readyz\"} 0\n"));
  EXPECT_THAT(
      text,
      HasSubstr("kubernetes_healthchecks_total{name=\"shutdown\",status=\"success\",type=\"readyz\"} 1\n"));
}

TEST_F(EndpointsTest, PagesAreWrittenOnDemand) {
  int asked = 0;
  endpoints_.AddPage("/configz", "application/json", [&] { return std::to_string(++asked); });
  Get("/configz");
  const auto answer = Get("/configz?x=1");
  EXPECT_EQ(*answer.body, "2");
  EXPECT_EQ(answer.content_type, "application/json");
}

TEST_F(EndpointsTest, VerbosityCanBeSet) {
  EXPECT_EQ(Get("/debug/flags/v", "PUT", "3").status, 404) << "only with profiling";
  endpoints_.AddVerbosity();
  EXPECT_EQ(*Get("/debug/flags/v", "PUT", "3").body, "successfully set klog.logging.verbosity to 3\n");
  EXPECT_TRUE(log::V(3));
  EXPECT_EQ(Get("/debug/flags/v", "PUT", "x").status, 400);
  EXPECT_EQ(Get("/debug/flags/v").status, 406);
  log::SetVerbosity(0);
}

TEST_F(EndpointsTest, TheProcessIsDescribed) {
  AddProcessMetrics(registry_);
  const auto text = *Get("/metrics").body;
  for (const char* name :
       {"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds ",
        "process_max_fds ", "process_start_time_seconds ", "git_version=\"v1.37.1\""}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

// A plain HTTP server of the endpoints and a client of it.
class PlainHttpTest : public EndpointsTest {
 protected:
  void Listen(PlainContent content) {
    endpoints_.AddPage("/configz", "application/json", [] { return std::string("{}"); });
    endpoints_.AddPage("/metrics/resources", "text/plain", [] { return std::string("pods"); });
    endpoints_.AddVerbosity();
    auto server = Server::Listen(io_, endpoints_, content, "127.0.0.1", 0);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    client_ = *http::Client::Make(io_, {.origin = {.host = "127.0.0.1", .port = server_->port()}});
  }
  Expected<http::ClientResponse> Send(std::string method, std::string target) {
    std::promise<Expected<http::ClientResponse>> answer;
    client_->Send({.method = std::move(method), .target = std::move(target)},
                  [&](Expected<http::ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }
  void ExpectHealthOnly() {
    EXPECT_EQ(Send("GET", "/livez")->body, "ok");
    EXPECT_EQ(Send("GET", "/readyz")->status, 500);
    for (const char* closed :
         {"/configz", "/debug/flags/v", "/", "/metricsx", "/metrics/resources", "/metrics/", "/nothing"}) {
      EXPECT_EQ(Send("GET", closed)->status, 404) << closed;
    }
    EXPECT_EQ(Send("PUT", "/debug/flags/v")->status, 404);
    EXPECT_EQ(Send("PUT", "/livez")->status, 405);
    EXPECT_EQ(Send("GET", "/%zz")->status, 400);
  }

 private:
  const SystemClock clock_;
  http::IoThread io_{clock_};
  std::unique_ptr<Server> server_;
  std::unique_ptr<http::Client> client_;
};

TEST_F(PlainHttpTest, ServesHealthReadOnlyAndRefusesMetricsWithARemedy) {
  Listen(PlainContent::kHealth);
  ExpectHealthOnly();
  for (const char* path : {"/metrics", "/metrics/slis"}) {
    const auto answer = Send("GET", path);
    EXPECT_EQ(answer->status, 403) << path;
    EXPECT_THAT(answer->body, HasSubstr("--berth-http-metrics")) << path;
  }
  EXPECT_EQ(Send("DELETE", "/metrics")->status, 403);
}

TEST_F(PlainHttpTest, ServesMetricsReadOnlyIfConfigured) {
  Listen(PlainContent::kHealthAndMetrics);
  ExpectHealthOnly();
  EXPECT_EQ(*Send("GET", "/metrics")->Find("content-type"),
            "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
  EXPECT_EQ(Send("GET", "/metrics/slis")->status, 200);
  EXPECT_EQ(Send("DELETE", "/metrics")->status, 405);
}

}  // namespace
}  // namespace berth::service
