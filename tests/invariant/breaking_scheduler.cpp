// `berth scheduler` with a plugin that has defects: when it filters nodes for certain pods, it violates an
// invariant or reads from address 0.
#include "base/check.hpp"
#include "command/custom_scheduler.hpp"

namespace {

const volatile int* volatile nowhere = nullptr;

class Defective final : public berth::framework::FilterPlugin {
 public:
  static constexpr std::string_view kName = "Defective";
  explicit Defective(berth::framework::Handle&) {}
  std::string_view Name() const override { return kName; }
  void Filter(const berth::framework::Attempt& attempt, const berth::RowSet&,
              berth::framework::Rejections&) const override {
    const std::string& name = attempt.pod().pod->metadata.name;
    BERTH_CHECK(name != "breaks-an-invariant", name, attempt.nodes().node_count());
    if (name == "reads-from-address-0") static_cast<void>(*nowhere);
  }
};

}  // namespace

int main(int argc, char** argv) { return berth::SchedulerCommand().WithPlugin<Defective>().Run(argc, argv); }
