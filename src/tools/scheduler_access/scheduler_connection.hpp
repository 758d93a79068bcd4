// A connection to the secure port of the running scheduler, with the credentials of the user's kubeconfig.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/migrate/live_server.hpp"
#include "tools/scheduler_access/access_options.hpp"
#include "tools/scheduler_access/port_forward.hpp"

namespace berth::scheduler_access {

// What a connection uses; must outlive it.
struct Surroundings {
  http::IoThread& io;
  const client::Environment& environment;
  const Clock& clock;
};

// The settings for the scheduler at `url`: the credentials of `cluster`. The certificate is verified with the
// authority of the options, else with that of `cluster`, else with those of the system. `forwarded`: the
// certificate is verified only if the options name an authority, because the API server and the kubelet have
// selected the pod, and Berth's own certificate is signed by no authority. Errors name the flag.
Expected<client::ConnectionConfig> SettingsFor(const std::string& url, bool forwarded,
                                               const AccessOptions& options, client::ConnectionConfig cluster,
                                               const client::Environment& environment);

// The namespace of pods that are named without one: `given`; if that is empty, the one of the kubeconfig's
// context.
Expected<std::string> NamespaceOf(const std::string& given, const AccessOptions& options,
                                  const client::Environment& environment);

// One thread.
class SchedulerConnection {
 public:
  static constexpr std::chrono::seconds kRequestTimeout{15};

  // Finds the leader's pod, unless the options name a server, and connects. Errors: kInvalid: the options;
  // others: why the scheduler cannot be reached.
  static Expected<SchedulerConnection> Open(const AccessOptions& options, const Surroundings& around);

  // The JSON of a GET request to a path. Errors: kNotFound: the scheduler does not have the object;
  // kUnauthorized, with the permission that is missing; kUnavailable, kTimeout.
  Expected<std::string> Get(const std::string& path);

  // The same for a POST request without a body. Not repeated, except as Retry-After of a response demands.
  Expected<std::string> Post(const std::string& path, Duration timeout = kRequestTimeout);

  // As Get, without retries and without an explanation of the error.
  client::Reply Send(const std::string& path);

  // "pod kube-system/berth-0", or the URL.
  const std::string& where() const { return where_; }

 private:
  SchedulerConnection() = default;
  Expected<std::string> SendAs(const std::string& method, const std::string& path, Duration timeout);

  std::optional<PortForward> forward_;  // none with --server
  std::unique_ptr<migrate::LiveServer> server_;
  std::string where_;
};

// The API's paths begin with this.
inline constexpr std::string_view kApi = "/apis/berth.dev/v1alpha1/";

}  // namespace berth::scheduler_access
