// Misuses of the plugin interface that must not compile. wrong_use_test.py compiles this file once unchanged
// (must succeed), and once per CASE with the macro of that name defined (must fail with the text).
#include "scheduler/framework/one_node.hpp"

using namespace berth::framework;

struct Plain final : OneNodeFilterPlugin {
  std::string_view Name() const override { return "Plain"; }
  Status FilterNode(const Attempt&, const NodeView&) const override { return {}; }
};
Plain plain;

#ifdef WITHOUT_NAME  // CASE: abstract
struct Nameless final : OneNodeFilterPlugin {
  Status FilterNode(const Attempt&, const NodeView&) const override { return {}; }
};
Nameless nameless;
#endif

#ifdef BOTH_FORMS_OF_FILTER  // CASE: overriding final function
struct Twice final : OneNodeFilterPlugin {
  std::string_view Name() const override { return "Twice"; }
  Status FilterNode(const Attempt&, const NodeView&) const override { return {}; }
  void Filter(const Attempt&, const berth::RowSet&, Rejections&) const override {}
};
#endif

#ifdef FORGOTTEN_STATUS  // CASE: ignoring returned value
void Forget(const Plain& plugin, const Attempt& attempt, const NodeView& node) {
  plugin.FilterNode(attempt, node);
}
#endif

#ifdef STATE_OF_ANOTHER_TYPE  // CASE: no matching function
void Write(CycleState& state, StateKey<int> key) { state.Write(key, std::string("text")); }
#endif

#ifdef STATE_THAT_CANNOT_BE_COPIED  // CASE: constraints not satisfied
void Move(CycleState& state, StateKey<std::unique_ptr<int>> key) { state.Write(key, std::unique_ptr<int>()); }
#endif

#ifdef HINT_ABOUT_ANOTHER_OBJECT  // CASE: a hint is called with (const PodInfo& waiting, const Object* before
EventRegistration Wrong() {
  return WhenNode(kAdd, [](const berth::cluster::PodInfo&, const berth::api::Pod*, const berth::api::Pod*) {
    return Hint::kQueue;
  });
}
#endif

#ifdef CHANGED_TABLE  // CASE: discards qualifiers
void Change(const Attempt& attempt, berth::cluster::PlacedPod& pod) { attempt.nodes().AddPod(0, pod); }
#endif

#ifdef ANSWER_GIVEN_AWAY_TWICE  // CASE: use of deleted function
void Copy(StatusCallback& callback) { StatusCallback copy = callback; }
#endif
