// Connections to the API server for delegated authentication and authorization.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"

namespace berth::service {

struct AuthenticationOptions;
class Trust;

// The connection settings of --authentication-kubeconfig or --authorization-kubeconfig (`what`:
// "authentication", "authorization"); without one, those of the pod's service account. nullopt outside of a
// pod.
Expected<std::optional<client::ConnectionConfig>> LoadReviewConnection(
    const std::string& kubeconfig, const std::string& what, const client::Environment& environment);

// The connection with the settings above. Null outside of a pod.
Expected<std::unique_ptr<client::Connection>> ConnectForReviews(
    http::IoThread& io, const std::string& kubeconfig, const std::string& what,
    const client::Environment& environment, metrics::Registry& metrics, const Clock& clock);

// Reads kube-system/extension-apiserver-authentication once, waiting at most ten seconds, and passes it to
// `trust`. Not on the io thread. An error only if `options` do not tolerate it; an absent ConfigMap is no
// error.
Expected<> ReadTrustFromCluster(http::IoThread& io, client::Api& api, const AuthenticationOptions& options,
                                Trust& trust);

}  // namespace berth::service
