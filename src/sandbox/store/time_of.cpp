#include "sandbox/store/time_of.hpp"

#include "kubernetes/api/timestamp.hpp"

namespace berth::sandbox {

std::optional<WallTime> TimeOf(std::string_view text) {
  static constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(WallTime::max()).time_since_epoch();
  static constexpr std::size_t kFractionAt = std::string_view("dddd-dd-ddTdd:dd:dd.").size();
  const auto seconds = api::ParseTimestamp(text);
  if (!seconds || *seconds >= kLast.count() || *seconds <= -kLast.count()) return std::nullopt;
  std::int64_t micros = 0;
  std::size_t at = kFractionAt;
  // Without a fraction, the character before is the Z or the sign of the offset.
  const bool has_fraction = text[at - 1] == '.' || text[at - 1] == ',';
  for (std::int64_t unit = 100'000; has_fraction && unit > 0; unit /= 10, ++at) {
    if (text[at] < '0' || text[at] > '9') break;
    micros += unit * (text[at] - '0');
  }
  return WallTime(std::chrono::seconds(*seconds)) + std::chrono::microseconds(micros);
}

}  // namespace berth::sandbox
