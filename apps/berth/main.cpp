#include "command/berth.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"

int main(int argc, char** argv) {
  return berth::command::RunBerth(argc, argv, berth::assembly::InTreePlugins());
}
