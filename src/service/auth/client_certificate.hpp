// Users by their client certificates.
#pragma once

#include <optional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/authorities.hpp"
#include "http/message.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// The common name is the user, each organization a group; Kubernetes' own attribute is the uid. nullopt: the
// certificate names no user. An error: it is not signed by these authorities, or contains more than one uid.
Expected<std::optional<User>> UserOfCertificate(const http::PeerCertificate& peer,
                                                const http::AuthorityPool& authorities, WallTime now);

}  // namespace berth::service
