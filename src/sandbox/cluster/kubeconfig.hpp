// The kubeconfig of a sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/certificates.hpp"
#include "sandbox/apiserver/auth/policy.hpp"

namespace berth::sandbox {

struct KubeconfigSource {
  std::string url;
  const http::CertificateAuthority* authority = nullptr;  // of the server and of clients; null without TLS
  std::vector<Policy::KnownUser> users;                   // the first one is the user of the current context
};

std::string WriteKubeconfig(const KubeconfigSource& source);

// The names of clusters in the text of a kubeconfig that no sandbox has written; empty: a sandbox may replace
// the text. A text that is no kubeconfig has the name "unreadable content".
std::vector<std::string> ForeignClusters(std::string_view kubeconfig);

}  // namespace berth::sandbox
