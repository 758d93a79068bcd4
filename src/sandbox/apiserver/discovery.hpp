// Discovery, which kubectl requests first: versions, groups, resources, and a minimum of OpenAPI.
#pragma once

#include <optional>
#include <string>

#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

struct Answer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// Answers /api, /apis, /api/v1, /apis/<group>[/<version>], /version, /openapi/..., /healthz, /livez, /readyz;
// nullopt for any other path.
std::optional<Answer> AnswerDiscovery(const ApiRequest& request);

}  // namespace berth::sandbox
