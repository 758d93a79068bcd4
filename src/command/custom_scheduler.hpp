// Builds a scheduler with custom plugins. This is the only header that a plugin author includes.
//
//   #include "command/custom_scheduler.hpp"
//
//   int main(int argc, char** argv) { return berth::SchedulerCommand().WithPlugin<MyPlugin>().Run(argc,
//   argv); }
#pragma once

#include <string>

#include "scheduler/framework/one_node.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/typed_args.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth {

// `berth` with additional plugins. A plugin has a name, P::kName, by which profiles enable it. It is built
// - from typed arguments, if there is a type P::Args (scheduler/framework/typed_args.hpp): P(const P::Args&,
// Handle&);
// - by P::Create(const framework::RawArgs&, framework::Handle&), if there is one;
// - by P(Handle&) otherwise.
// A plugin with the name of one of Berth's own plugins replaces it.
class SchedulerCommand {
 public:
  SchedulerCommand();

  template <class P>
  SchedulerCommand& WithPlugin() {
    const std::string name(P::kName);
    if constexpr (requires { typename P::Args; }) {
      plugins_.AddForeign(name, framework::MakeTyped<P>);
      plugins_.SetCodec(name, framework::TypedArgsCodec<typename P::Args>());
    } else if constexpr (requires(const framework::RawArgs& raw, framework::Handle& handle) {
                           P::Create(raw, handle);
                         }) {
      plugins_.AddForeign(name, P::Create);
    } else {
      plugins_.AddForeign(name, framework::Make<P>);
    }
    return *this;
  }

  // Flags are those of `berth scheduler`; a word in place of a flag is one of berth's other commands
  // (explain, config, measure ...). Returns the exit code.
  int Run(int argc, char** argv) const;

 private:
  runtime::Registry plugins_;
};

}  // namespace berth
