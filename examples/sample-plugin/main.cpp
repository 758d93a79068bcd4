#include "sample_plugin.hpp"

#include "command/custom_scheduler.hpp"

int main(int argc, char** argv) {
  return berth::SchedulerCommand().WithPlugin<sample::SamplePlugin>().Run(argc, argv);
}
