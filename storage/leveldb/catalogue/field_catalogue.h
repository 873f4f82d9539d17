// FieldCatalogue: the fields ever seen in each stream, with the types they had, and those of which
// tables missed something. Read from many threads; changed by the committer's when a commit that
// brought news succeeded. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_FIELD_CATALOGUE_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_FIELD_CATALOGUE_H_

#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "storage/leveldb/codec/meta_codec.h"
#include "storage/store.h"

namespace tallyd {

// stream -> field -> marks
using FieldTypes =
    std::map<std::string, std::map<std::string, FieldMarks, std::less<>>, std::less<>>;

// What a table missed, by field.
using MissedFields = std::map<TableId, std::map<std::string, MissedField, std::less<>>>;

class FieldCatalogue {
 public:
  // Of the names of one stream, and of those that a table missed; beyond, new fields are not
  // remembered.
  static constexpr size_t kMaxNameBytes = 16u << 20;

  // No types: it is new.
  FieldMarks Find(std::string_view stream, std::string_view field) const;
  std::vector<FieldInfo> Fields(std::string_view stream) const;
  bool HasRoom(std::string_view stream) const;
  bool HasRoomForMissed(TableId table) const;
  // How the table missed the field; 0 if it did not.
  uint8_t HowMissed(TableId table, std::string_view field) const;
  // By name.
  std::vector<MissedField> Missed(TableId table) const;
  void Add(const FieldTypes& fields, const MissedFields& missed);
  void Replace(const FieldTypes& fields, const MissedFields& missed);

 private:
  void AddMissed(const MissedFields& missed);  // REQUIRES: mutex_ exclusively.

  mutable std::shared_mutex mutex_;
  FieldTypes fields_;
  MissedFields missed_;
  std::map<TableId, size_t> missed_bytes_;                 // Of names.
  std::map<std::string, size_t, std::less<>> name_bytes_;  // By stream.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_FIELD_CATALOGUE_H_
