// HeadClaims: what a head says of itself (its number, what it follows) and of the tables and sets
// of columns that its entries use, against where it lies and what base says. Two that contradict
// are of two moments, or were put together: entries would count twice, or be read as those of
// another table or column.
//
//   Read or Take..., then Judge...: nothing, or what contradicts, for people.
//
// What a head of an older tallyd or of a salvage does not say is contradicted by nothing. One
// thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_HEAD_CLAIMS_H_
#define TALLYD_STORAGE_LEVELDB_FILES_HEAD_CLAIMS_H_

#include <leveldb/db.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/table_info.h"

namespace tallyd {

// What lies before a head: base, or another head that is not sealed.
struct BeforeHead {
  uint64_t last_sequence = 0;
  // It is a head, and has all that came before the next one was begun.
  bool is_head = false;
};

// What contradicts; empty: nothing does.
using Contradiction = std::string;

class HeadClaims {
 public:
  using Sets = std::map<std::pair<TableId, uint32_t>, std::vector<Column>>;

  // What such a head says, and nothing else of it. kCorruption: what it says of itself cannot be
  // read.
  static Result<HeadClaims> Read(leveldb::DB* head);
  // One of its records, whichever; others than these claims are passed over, and so is a copy that
  // cannot be read.
  Status Take(std::string_view key, std::string_view value);

  const std::optional<HeadOrigin>& origin() const { return origin_; }
  // 0: it has none.
  uint64_t last_sequence() const { return last_sequence_; }
  const std::map<TableId, TableInfo>& tables() const { return tables_; }
  const Sets& sets() const { return sets_; }

  // Of the head that lies under that number.
  Contradiction JudgePlace(uint64_t number, const BeforeHead& before) const;

 private:
  std::optional<HeadOrigin> origin_;
  uint64_t last_sequence_ = 0;
  std::map<TableId, TableInfo> tables_;
  Sets sets_;
};

// What may not change of a table as long as it has its number; base's record is never the older
// one.
Contradiction JudgeTable(const TableInfo& of_head, const TableInfo& of_base);

// What base says: kNotFound where it has no such record.
using FindRecord = std::function<Result<std::string>(const std::string& key)>;
// Of all tables and sets. An error: base cannot be read.
Result<Contradiction> JudgeCopies(const HeadClaims& claims, const FindRecord& base);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_HEAD_CLAIMS_H_
