// /flagz and /statusz as in apiserver v0.37.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace berth {
class Clock;
}

namespace berth::service {

class Endpoints;

struct StatusFacts {
  std::string binary_version;     // "1.37.1"
  std::string emulation_version;  // "1.37"
};

// /flagz lists every flag and its value; `flags` is called once.
void AddFlagz(Endpoints& endpoints, const std::function<std::map<std::string, std::string>()>& flags);

// /statusz shows name, version, start time and the paths that were added before. There is no Go version to
// show. `clock` must outlive the endpoints.
void AddStatusz(Endpoints& endpoints, StatusFacts facts, const Clock& clock);

}  // namespace berth::service
