// `berth scheduler` with a plugin that violates an invariant when it filters nodes for a certain pod.
#include "base/check.hpp"
#include "command/custom_scheduler.hpp"

namespace {

class BreaksInvariant final : public berth::framework::FilterPlugin {
 public:
  static constexpr std::string_view kName = "BreaksInvariant";
  explicit BreaksInvariant(berth::framework::Handle&) {}
  std::string_view Name() const override { return kName; }
  void Filter(const berth::framework::Attempt& attempt, const berth::RowSet&,
              berth::framework::Rejections&) const override {
    const std::string& name = attempt.pod().pod->metadata.name;
    BERTH_CHECK(name != "breaks-an-invariant", name, attempt.nodes().node_count());
  }
};

}  // namespace

int main(int argc, char** argv) {
  return berth::SchedulerCommand().WithPlugin<BreaksInvariant>().Run(argc, argv);
}
