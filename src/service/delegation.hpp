// The API server that knows who is who and who may do what.
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

// How to reach the API server by --authentication-kubeconfig or --authorization-kubeconfig (`what`:
// "authentication", "authorization"); without one as the pod we run in does. Nothing outside of a pod.
Expected<std::optional<client::ConnectionConfig>> LoadReviewConnection(
    const std::string& kubeconfig, const std::string& what, const client::Environment& environment);

// The connection of --authentication-kubeconfig or --authorization-kubeconfig (`what`: "authentication",
// "authorization"); without one that of the pod we run in. Null outside of a pod.
Expected<std::unique_ptr<client::Connection>> ConnectForReviews(
    http::IoThread& io, const std::string& kubeconfig, const std::string& what,
    const client::Environment& environment, metrics::Registry& metrics, const Clock& clock);

// Reads kube-system/extension-apiserver-authentication once, waiting ten seconds at most, and hands it to
// `trust`. Not on the io thread. An error only if `options` do not tolerate it; one that is absent is none.
Expected<> LookUpTrust(http::IoThread& io, client::Api& api, const AuthenticationOptions& options,
                       Trust& trust);

}  // namespace berth::service
