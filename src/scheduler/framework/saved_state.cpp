#include "scheduler/framework/saved_state.hpp"

#include <fmt/format.h>

#include <utility>

#include "scheduler/framework/exception_guard.hpp"

namespace berth::framework {
namespace {

Expected<std::string> TextOf(StateEncoder& encode) {
  constexpr std::size_t kMost = SavedStatePlugin::kMaxSavedBytes;
  std::string text = encode();
  if (text.size() <= kMost) return text;
  return Invalid(fmt::format("its state has {} bytes, and at most {} can be saved", text.size(), kMost));
}

}  // namespace

Expected<std::vector<SavedState>> Encode(std::vector<CopiedState> states) {
  std::vector<SavedState> saved;
  for (CopiedState& state : states) {
    BERTH_TRY(std::string text, CatchErrors(state.plugin, [&] { return TextOf(state.encode); }));
    saved.push_back({std::move(state.profile), std::move(state.plugin), std::move(text)});
  }
  return saved;
}

}  // namespace berth::framework
