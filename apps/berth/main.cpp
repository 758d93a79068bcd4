#include "command/berth.hpp"

int main(int argc, char** argv) { return berth::command::RunBerth(argc, argv); }
