// FilePrint: what two files have to have alike so that daemons that have them may write side by
// side, in few bytes: streams with their units and labels, their tables, families and rules,
// whatever the order in which they stand.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_FILE_PRINT_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_FILE_PRINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"

namespace tallyd {

struct FilePrint {
  std::string all;                                         // Empty: of no file.
  std::map<std::string, std::string, std::less<>> streams;  // By name: each with its tables.
  std::optional<uint64_t> generation;  // As the file says; no part of what is compared.
};

FilePrint PrintOfFile(const Schema& schema);

// The streams of `own` that are others in `in_force`, or not there, by name.
std::vector<std::string> DifferingStreams(const FilePrint& own, const FilePrint& in_force);

// Whether a file may take the place of the one in force. kConflict: its generation is lower, or
// equal and it says something else.
Status CheckGeneration(const FilePrint& own, const FilePrint& in_force);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_FILE_PRINT_H_
