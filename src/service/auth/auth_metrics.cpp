#include "service/auth/auth_metrics.hpp"

namespace berth::service {
namespace {

constexpr double kReviewSeconds[] = {0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};
constexpr double kDefaultSeconds[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
constexpr double kExpiration[] = {0,      1800,   3600,   7200,    21600,   43200,    86400,
                                  172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000};

const std::vector<double>& FilterSeconds() {
  static const std::vector<double> buckets = metrics::ExponentialBuckets(0.001, 2, 15);
  return buckets;
}

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// Few fixed names, so that the metric neither grows without bound nor reveals user names.
std::string KindOf(std::string_view user) {
  for (const std::string_view known :
       {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}) {
    if (user == known) return std::string(user);
  }
  return user.contains('@') ? "email_id" : "other";
}

}  // namespace

void ReviewMetrics::Answered(int code, Duration took) {
  const std::string label = code == 0 ? "<error>" : std::to_string(code);
  const std::string name = "apiserver_delegated_" + kind_ + "_request_";
  registry_
      .Counter(name + "total", "[ALPHA] Number of HTTP requests partitioned by status code.",
               {{"code", label}})
      .Add();
  registry_
      .Histogram(name + "duration_seconds", "[ALPHA] Request latency in seconds. Broken down by status code.",
                 kReviewSeconds, {{"code", label}})
      .Observe(Seconds(took));
}

void FilterMetrics::Authenticated(std::string_view result, std::string_view user, Duration took) {
  if (result == "success") {
    registry_
        .Counter("authenticated_user_requests",
                 "[ALPHA] Counter of authenticated requests broken out by username.",
                 {{"username", KindOf(user)}})
        .Add();
  }
  const metrics::Labels labels{{"result", std::string(result)}};
  registry_.Counter("authentication_attempts", "[ALPHA] Counter of authenticated attempts.", labels).Add();
  registry_
      .Histogram("authentication_duration_seconds",
                 "[ALPHA] Authentication duration in seconds broken out by result.", FilterSeconds(), labels)
      .Observe(Seconds(took));
}

void FilterMetrics::Authorized(std::string_view result, Duration took) {
  const metrics::Labels labels{{"result", std::string(result)}};
  registry_
      .Counter("authorization_attempts_total",
               "[ALPHA] Counter of authorization attempts broken down by result. It can be either 'allowed', "
               "'denied', 'no-opinion' or 'error'.",
               labels)
      .Add();
  registry_
      .Histogram("authorization_duration_seconds",
                 "[ALPHA] Authorization duration in seconds broken out by result.", FilterSeconds(), labels)
      .Observe(Seconds(took));
}

void FilterMetrics::CertificateExpires(double in_seconds) {
  registry_
      .Histogram("apiserver_client_certificate_expiration_seconds",
                 "[ALPHA] Distribution of the remaining lifetime on the certificate used to authenticate a "
                 "request.",
                 kExpiration)
      .Observe(in_seconds);
}

void TokenCacheMetrics::Requested(bool hit, Duration took) {
  const metrics::Labels labels{{"status", hit ? "hit" : "miss"}};
  registry_.Counter("authentication_token_cache_request_total", "[ALPHA] ", labels).Add();
  // Whole milliseconds, as in kube-scheduler.
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  registry_
      .Histogram("authentication_token_cache_request_duration_seconds", "[ALPHA] ", kDefaultSeconds, labels)
      .Observe(static_cast<double>(milliseconds) / 1000);
}

void TokenCacheMetrics::Blocked(int by) { Active("blocked").Add(by); }
void TokenCacheMetrics::FetchBegins() { Active("in_flight").Add(1); }
void TokenCacheMetrics::FetchEnds(bool ok) {
  registry_.Counter("authentication_token_cache_fetch_total", "[ALPHA] ", {{"status", ok ? "ok" : "error"}})
      .Add();
  Active("in_flight").Add(-1);
}

metrics::Gauge& TokenCacheMetrics::Active(const char* status) {
  return registry_.Gauge("authentication_token_cache_active_fetch_count", "[ALPHA] ", {{"status", status}});
}

}  // namespace berth::service
