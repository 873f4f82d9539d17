// SmallStore: a store of two tables, history H and latest L, with all kinds of files: sealed block
// files, an unsealed head and base, each with a log and a table file. A few KB, closed.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_TOOLS_SMALL_STORE_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_TOOLS_SMALL_STORE_H_

#include <map>
#include <string>

#include "tests/storage/store_fixture.h"

namespace tallyd {

class SmallStore : public StoreHarness {
 public:
  static Schema SchemaOf();
  // Leaves the store closed.
  void Make();

  // What it then holds.
  Rows history;
  Rows latest;

 protected:
  // One event into both tables.
  void WriteEvent(const std::string& machine, TimeUs time, int64_t value,
                  const std::string& text = {});
};

// Every file below a directory, by its path in it, with its bytes; directories end in '/'.
std::map<std::string, std::string> FilesBelow(const std::string& directory);
// Makes the directory hold these files, and nothing else.
void WriteFiles(const std::map<std::string, std::string>& files, const std::string& directory);

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_TOOLS_SMALL_STORE_H_
