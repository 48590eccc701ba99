#include "weft/commands.h"

int main(int argc, char** argv) { return weft::cli::run(argc, argv); }
