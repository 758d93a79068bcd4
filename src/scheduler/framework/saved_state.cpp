#include "scheduler/framework/saved_state.hpp"

#include <fmt/format.h>

#include <exception>

namespace berth::framework {
namespace {

Expected<std::string> TextOf(StateEncoder& encode) {
  constexpr std::size_t kMost = SavedStatePlugin::kMaxSavedBytes;
  try {
    std::string text = encode();
    if (text.size() <= kMost) return text;
    return Invalid(fmt::format("its state has {} bytes, and at most {} can be saved", text.size(), kMost));
  } catch (const std::exception& exception) {
    return Invalid(exception.what());
  } catch (...) {
    return Invalid("an exception that is not a std::exception");
  }
}

}  // namespace

Expected<std::vector<SavedState>> Encode(std::vector<CopiedState> states) {
  std::vector<SavedState> saved;
  for (CopiedState& state : states) {
    Expected<std::string> text = TextOf(state.encode);
    if (!text) return std::unexpected(std::move(text).error().In(state.plugin));
    saved.push_back({std::move(state.profile), std::move(state.plugin), *std::move(text)});
  }
  return saved;
}

}  // namespace berth::framework
