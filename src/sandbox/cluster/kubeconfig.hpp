// The kubeconfig of a sandbox.
#pragma once

#include <string>
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

}  // namespace berth::sandbox
