#include "sample_plugin.hpp"

#include "command/own_scheduler.hpp"

int main(int argc, char** argv) {
  return berth::SchedulerCommand().WithPlugin<sample::SamplePlugin>().Run(argc, argv);
}
