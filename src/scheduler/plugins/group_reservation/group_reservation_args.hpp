// Arguments of GroupReservation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/framework/typed_args.hpp"

namespace berth::plugins {

struct GroupReservationArgs {
  // A group gets a reservation when it has waited this long since it was first tried.
  std::int64_t wait_seconds = 600;
  // A reservation ends after this time. Then the group waits again before it gets another one.
  std::int64_t reservation_seconds = 3600;
  // At the same time; other groups get theirs later.
  std::int64_t max_reservations = 4;

  static constexpr std::string_view kKind = "GroupReservationArgs";
  static auto Fields() {
    using framework::Field;
    return std::tuple(Field("waitSeconds", &GroupReservationArgs::wait_seconds),
                      Field("reservationSeconds", &GroupReservationArgs::reservation_seconds),
                      Field("maxReservations", &GroupReservationArgs::max_reservations));
  }
  std::vector<std::string> Validate() const;
};

}  // namespace berth::plugins
