#include "scheduler/assembly/in_tree_plugins.hpp"
#include "command/berth.hpp"

int main(int argc, char** argv) {
  return berth::command::RunBerth(argc, argv, berth::assembly::InTreePlugins());
}
