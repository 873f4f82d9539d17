// The tools' part of the command line: what each is called, takes and does. What the options say
// is read into a CommandLine by CLI11.
#ifndef TALLYD_TOOLS_COMMAND_LINE_H_
#define TALLYD_TOOLS_COMMAND_LINE_H_

#include <span>

#include "tools/commands.h"

namespace CLI {
class App;
}

namespace tallyd {

struct Command {
  const char* name;
  const char* what;  // For --help.
  int (*run)(const CommandLine& line, const ToolHost& host);
  void (*add_options)(CLI::App* app, CommandLine* line);
};

// In the order of --help.
std::span<const Command> Tools();

// --config alone, which is needed.
void AddConfigOption(CLI::App* app, CommandLine* line);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COMMAND_LINE_H_
