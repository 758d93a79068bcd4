#include "command/berth.hpp"

int main(int argc, char** argv) { return berth::RunBerth(argc, argv); }
