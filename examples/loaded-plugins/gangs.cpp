// SpacedGangs, a C++ plugin that is called per node and implements every extension point. Pods with the
// labels `gang: <name>` and `gang-size: <n>` start together or not at all. A reserved member waits in Permit
// until n members are reserved; if one is unreserved, all are rejected. Nodes with few pods of the pod's
// namespace score higher, and a node gets at most `mostPerNode` members. With `ledger` each start is written
// to that file before the pod is bound.
//
//   pluginConfig:
//   - name: SpacedGangs
//     args: {mostPerNode: 2, waitSeconds: 60, ledger: /var/log/gangs.log}
//
// Build: c++ -std=c++17 -O2 -shared -fPIC -I<prefix>/include gangs.cpp -o gangs.so
#include <berth_plugin.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>

namespace {

struct Gang {
  std::string name;  // namespace/name
  std::size_t size = 0;
};

// All methods run on the scheduling loop, except the writing of `ledger_`.
class Gangs {
 public:
  Gangs(const berth_host& host, berth_scheduler* scheduler, berth_reply* reply)
      : host_(host), scheduler_(scheduler) {
    const char* ledger = "";
    host.take_int(reply, "mostPerNode", &most_per_node_);
    host.take_int(reply, "waitSeconds", &wait_seconds_);
    host.take_text(reply, "ledger", &ledger);
    ledger_ = ledger;
  }

  // The error of the arguments; null: none.
  const char* Mistake() const {
    if (most_per_node_ < 1) return "mostPerNode: Invalid value: must be greater than 0";
    if (wait_seconds_ < 1 || wait_seconds_ > 900)
      return "waitSeconds: Invalid value: must be between 1 and 900";
    return nullptr;
  }

  // Parses the labels once and stores the result with the attempt.
  std::int32_t PreFilter(const berth_attempt* attempt, berth_reply* reply) {
    const berth_pod* pod = host_.pod(attempt);
    const char* name = host_.pod_label(pod, "gang");
    if (name == nullptr) return BERTH_SKIP;
    const char* size = host_.pod_label(pod, "gang-size");
    const long members = size != nullptr ? std::strtol(size, nullptr, 10) : 0;
    if (members < 1) {
      host_.add_reason(reply, "the label gang-size is not a number above 0");
      return BERTH_UNRESOLVABLE;
    }
    auto* gang =
        new Gang{std::string(host_.pod_namespace(pod)) + "/" + name, static_cast<std::size_t>(members)};
    host_.set_data(attempt, gang, [](void* data) { delete static_cast<Gang*>(data); });
    return BERTH_SUCCESS;
  }

  std::int32_t FilterNode(const berth_attempt* attempt, std::uint32_t row, berth_reply* reply) {
    if (Count(attempt, row, "gang", host_.pod_label(host_.pod(attempt), "gang")) < most_per_node_)
      return BERTH_SUCCESS;
    host_.add_reason(reply, "node(s) had enough members of the gang");
    return BERTH_UNSCHEDULABLE;
  }

  std::int32_t PreScore(const berth_attempt* attempt) {
    return host_.data(attempt) != nullptr ? BERTH_SUCCESS : BERTH_SKIP;
  }
  std::int32_t ScoreNode(const berth_attempt* attempt, std::uint32_t row, std::int64_t* score) {
    *score = Count(attempt, row, nullptr, nullptr);
    return BERTH_SUCCESS;
  }
  // The fewest pods get the highest score.
  std::int32_t NormalizeNode(std::int64_t lowest, std::int64_t highest, std::int64_t* score) {
    *score = highest > lowest ? (highest - *score) * BERTH_MAX_SCORE / (highest - lowest) : BERTH_MAX_SCORE;
    return BERTH_SUCCESS;
  }

  std::int32_t Reserve(const berth_placement* placement) {
    if (const Gang* gang = GangOf(placement)) placed_[gang->name].insert(Uid(placement));
    return BERTH_SUCCESS;
  }
  // A member that is unreserved rejects the members that wait for it.
  void Unreserve(const berth_placement* placement) {
    const Gang* gang = GangOf(placement);
    if (gang == nullptr || placed_[gang->name].erase(Uid(placement)) == 0) return;
    for (const std::string& uid : placed_[gang->name])
      host_.deny(scheduler_, uid.c_str(), "another member of the gang gave up its place");
    if (placed_[gang->name].empty()) placed_.erase(gang->name);
  }
  std::int32_t Permit(const berth_placement* placement, std::int64_t* timeout_ms) {
    const Gang* gang = GangOf(placement);
    if (gang == nullptr) return BERTH_SUCCESS;
    const std::set<std::string>& members = placed_[gang->name];
    *timeout_ms = wait_seconds_ * 1000;
    if (members.size() < gang->size) return BERTH_WAIT;
    for (const std::string& uid : members) host_.allow(scheduler_, uid.c_str());
    return BERTH_SUCCESS;
  }

  std::int32_t PreBindPreFlight(const berth_placement* placement) {
    return GangOf(placement) != nullptr && !ledger_.empty() ? BERTH_SUCCESS : BERTH_SKIP;
  }
  // On another thread, because writing to a disk may block.
  std::int32_t PreBind(const berth_placement* placement, berth_reply* reply) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::FILE* file = std::fopen(ledger_.c_str(), "a");
    if (file == nullptr) {
      host_.add_reason(reply, (ledger_ + ": " + std::strerror(errno)).c_str());
      return BERTH_ERROR;
    }
    std::fprintf(file, "%s %s %s\n", GangOf(placement)->name.c_str(),
                 host_.pod_name(host_.placement_pod(placement)), host_.placement_node(placement));
    std::fclose(file);
    return BERTH_SUCCESS;
  }
  void PostBind(const berth_placement* placement) {
    const Gang* gang = GangOf(placement);
    if (gang == nullptr) return;
    if (host_.log_wanted(2)) host_.log(scheduler_, 2, ("A member of " + gang->name + " is bound").c_str());
    // The gang is complete: later members start a new one.
    placed_[gang->name].erase(Uid(placement));
    if (placed_[gang->name].empty()) placed_.erase(gang->name);
  }

 private:
  const Gang* GangOf(const berth_placement* placement) const {
    return static_cast<const Gang*>(host_.placement_data(placement));
  }
  std::string Uid(const berth_placement* placement) const {
    return host_.pod_uid(host_.placement_pod(placement));
  }

  // The pods of the incoming pod's namespace on the node; with a key only those with that label.
  std::int64_t Count(const berth_attempt* attempt, std::uint32_t row, const char* key,
                     const char* value) const {
    const char* ns = host_.pod_namespace(host_.pod(attempt));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < host_.node_pods(attempt, row); ++i) {
      const berth_pod* other = host_.node_pod(attempt, row, i);
      if (std::strcmp(host_.pod_namespace(other), ns) != 0) continue;
      const char* has = key != nullptr ? host_.pod_label(other, key) : nullptr;
      if (key == nullptr || (has != nullptr && std::strcmp(has, value) == 0)) ++count;
    }
    return count;
  }

  const berth_host& host_;
  berth_scheduler* const scheduler_;
  std::int64_t most_per_node_ = 1000000;
  std::int64_t wait_seconds_ = 60;
  std::string ledger_;
  std::mutex mutex_;                                     // serialises writes to the ledger
  std::map<std::string, std::set<std::string>> placed_;  // by gang: uids of reserved members
};

// --- the C interface: no exception may leave it ---

Gangs& Of(void* self) { return *static_cast<Gangs*>(self); }

const berth_host* host_of_all = nullptr;  // used to report errors

template <class Call>
std::int32_t Guarded(berth_reply* reply, Call call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    host_of_all->add_reason(reply, error.what());
  } catch (...) {
    host_of_all->add_reason(reply, "unknown exception");
  }
  return BERTH_ERROR;
}
template <class Call>
void Guarded(Call call) noexcept {
  try {
    call();
  } catch (...) {
    // The callback has no way to report an error.
  }
}

void* Create(const berth_host* host, berth_scheduler* scheduler, const char*, berth_reply* reply) {
  host_of_all = host;
  Gangs* made = nullptr;
  const std::int32_t code = Guarded(reply, [&]() -> std::int32_t {
    made = new Gangs(*host, scheduler, reply);
    if (const char* mistake = made->Mistake()) {
      host->add_reason(reply, mistake);
      return BERTH_ERROR;
    }
    return BERTH_SUCCESS;
  });
  if (code == BERTH_SUCCESS) return made;
  delete made;
  return nullptr;
}

berth_plugin Table() {
  berth_plugin table{};
  table.size = sizeof table;
  table.name = "SpacedGangs";
  table.version = "1.0";
  static const berth_event events[] = {{BERTH_ON_ASSIGNED_POD, BERTH_ADDED | BERTH_DELETED},
                                       {BERTH_ON_UNSCHEDULED_POD, BERTH_ADDED},
                                       {BERTH_ON_TARGET_POD, BERTH_POD_LABEL},
                                       {BERTH_ON_NODE, BERTH_ADDED}};
  table.events = events;
  table.event_count = sizeof events / sizeof *events;
  table.create = Create;
  table.destroy = [](void* self) { delete static_cast<Gangs*>(self); };
  table.pre_filter = [](void* self, const berth_attempt* attempt, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).PreFilter(attempt, reply); });
  };
  table.filter_node = [](void* self, const berth_attempt* attempt, std::uint32_t row, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).FilterNode(attempt, row, reply); });
  };
  table.pre_score = [](void* self, const berth_attempt* attempt, const std::uint64_t*, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).PreScore(attempt); });
  };
  table.score_node = [](void* self, const berth_attempt* attempt, std::uint32_t row, std::int64_t* score,
                        berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).ScoreNode(attempt, row, score); });
  };
  table.normalize_node = [](void* self, const berth_attempt*, std::uint32_t, std::int64_t lowest,
                            std::int64_t highest, std::int64_t* score, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).NormalizeNode(lowest, highest, score); });
  };
  table.reserve = [](void* self, const berth_placement* placement, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).Reserve(placement); });
  };
  table.unreserve = [](void* self, const berth_placement* placement) {
    Guarded([&] { Of(self).Unreserve(placement); });
  };
  table.permit = [](void* self, const berth_placement* placement, std::int64_t* timeout_ms,
                    berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).Permit(placement, timeout_ms); });
  };
  table.pre_bind_pre_flight = [](void* self, const berth_placement* placement, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).PreBindPreFlight(placement); });
  };
  table.pre_bind = [](void* self, const berth_placement* placement, berth_reply* reply) {
    return Guarded(reply, [&] { return Of(self).PreBind(placement, reply); });
  };
  table.post_bind = [](void* self, const berth_placement* placement) {
    Guarded([&] { Of(self).PostBind(placement); });
  };
  return table;
}

}  // namespace

std::uint32_t berth_plugin_version() { return BERTH_PLUGIN_VERSION; }

const berth_library* berth_plugin_describe() {
  static const berth_plugin gangs = Table();
  static const berth_plugin* const plugins[] = {&gangs};
  static const berth_library library = {sizeof(berth_library), 1, plugins};
  return &library;
}
