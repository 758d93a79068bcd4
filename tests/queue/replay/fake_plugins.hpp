// The plugins of a recorded sequence. Their results depend on the objects only; plugins.go computes the same
// ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::replay {

struct FakeRegistration {
  std::string resource;
  framework::ActionMask action = 0;
  bool hint = false;
};

struct FakePlugin {
  std::string name;
  bool pre_enqueue = false;
  std::vector<std::string> profiles;
  std::vector<FakeRegistration> events;
};

// A profile with those plugins that list it, in their order. Clock and handle must outlive it.
std::unique_ptr<runtime::Profile> BuildProfile(const std::string& name,
                                               const std::vector<FakePlugin>& plugins, const Clock& clock,
                                               framework::Handle& handle);

framework::EventResource ResourceNamed(const std::string& name);
// An object of that kind with only a name; null for the empty name.
std::shared_ptr<const void> ObjectOf(framework::EventResource kind, const std::string& name);

}  // namespace berth::replay
