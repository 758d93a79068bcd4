// Users by their client certificates.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/authorities.hpp"
#include "http/message.hpp"
#include "service/auth/certificate_verifier.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// The common name is the user, each organization a group; Kubernetes' own attribute is the uid. nullopt: the
// certificate names no user. An error: it is not signed by these authorities, or contains more than one uid.
Expected<std::optional<User>> UserOfCertificate(const std::shared_ptr<const http::PeerCertificate>& peer,
                                                const std::shared_ptr<const http::AuthorityPool>& authorities,
                                                CertificateVerifier& verifier, WallTime now);

}  // namespace berth::service
