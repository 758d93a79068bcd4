// Connects a shadow with the loop that follows the cluster.
#pragma once

#include <variant>

#include "scheduler/cycle/cluster_follower.hpp"
#include "tools/shadow/shadow.hpp"

namespace berth::shadow {

// The loop's thread. The loop and the shadow must outlive it.
class ShadowObserver final : public cycle::ChangeObserver {
 public:
  ShadowObserver(cycle::ClusterLoop& loop, Shadow& shadow) : loop_(loop), shadow_(shadow) {}

  void Before(const ports::ClusterChange& change) override { shadow_.Before(change); }
  void After() override { shadow_.After(); }
  void Synced() override {
    shadow_.Synced();
    TickRegularly();
  }

 private:
  // Pending comparisons must be completed without further changes, too.
  void TickRegularly() {
    shadow_.Tick();
    loop_.PostAfter(kTickInterval, [this] { TickRegularly(); });
  }
  static constexpr Duration kTickInterval = std::chrono::milliseconds(200);

  cycle::ClusterLoop& loop_;
  Shadow& shadow_;
};

}  // namespace berth::shadow
