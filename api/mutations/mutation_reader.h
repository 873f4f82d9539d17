// MutationReader: the JSON of POST .../mutations -> what is to be done to the row
// (service/write/mutation.h). Numbers are read from their digits: an integer never passes through a
// double.
//
//   MutationReader reader(stored, table);
//   Result<std::vector<Mutation>> list = reader.Read(body);   // kInvalid: it is no list.
//   if (reader.errors().empty()) use *list
//
// What is read views the reader, which outlives it. One body. Not thread-safe.
#ifndef TALLYD_API_MUTATIONS_MUTATION_READER_H_
#define TALLYD_API_MUTATIONS_MUTATION_READER_H_

#include <simdjson.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "ingest/decode/event_batch.h"
#include "service/write/mutation.h"
#include "storage/table_info.h"

namespace tallyd {

// Bigtable's limit for one row.
inline constexpr size_t kMaxMutations = 100'000;

class MutationReader {
 public:
  // Both outlive it; `table` is what the file says of `stored`. `most_added`: as the engine has it
  // (Capabilities).
  MutationReader(const TableInfo& stored, const Table& table, int64_t most_added)
      : stored_(stored), table_(table), most_added_(most_added) {}
  MutationReader(const MutationReader&) = delete;
  MutationReader& operator=(const MutationReader&) = delete;

  Result<std::vector<Mutation>> Read(std::string_view body);
  // By the mutation's place in the list.
  const EventErrors& errors() const { return errors_; }

 private:
  using Json = simdjson::ondemand::value;
  using Refused = std::optional<Refusal>;
  // What a mutation may say, as it stands there.
  struct Said {
    Value value;
    std::string_view digits;  // Of a number, as it was sent.
  };
  struct Members {
    std::optional<std::string_view> family;
    std::optional<std::string_view> qualifier;
    std::optional<Said> ts;
    std::optional<Said> from;
    std::optional<Said> to;
    bool has_value = false;
    Value value;              // Null where `digits` has it.
    std::string_view digits;  // Of a number.
  };

  Status ReadList(simdjson::ondemand::array list, std::vector<Mutation>* mutations);
  Refused ReadMutation(Json json, Mutation* mutation);
  Refused ReadMembers(Json json, Mutation::Kind kind, Members* members);
  Refused ReadMember(std::string_view name, Json json, Mutation::Kind kind, Members* members);
  Refused ReadText(std::string_view name, Json json, std::optional<std::string_view>* text);
  Refused ReadValue(std::string_view name, Json json, Value* value, std::string_view* digits);
  Refused ReadBytes(std::string_view name, Json json, Value* value);
  Refused ReadNumberOrText(std::string_view name, Json json, std::optional<Said>* said);
  Refused Check(const Members& members, Mutation* mutation);
  Refused CheckFamily(const Members& members, Mutation* mutation, const Family** family) const;
  Refused CheckCell(const Members& members, const Family& family, Mutation* mutation);
  Refused CheckDelete(const Members& members, Mutation* mutation) const;
  Refused ReadState(const Members& members, Aggregate kind, Mutation* mutation);
  Refused Broken(simdjson::error_code code);

  const TableInfo& stored_;
  const Table& table_;
  const int64_t most_added_;
  simdjson::padded_string json_;
  simdjson::ondemand::parser parser_;
  std::deque<std::string> bytes_;  // What is viewed and not in the JSON.
  std::string broken_;             // Why the body cannot be read on.
  EventErrors errors_;
};

}  // namespace tallyd

#endif  // TALLYD_API_MUTATIONS_MUTATION_READER_H_
