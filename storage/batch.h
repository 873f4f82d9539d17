// Batch: the changes of one request, to be committed as a whole or not at all where the engine has
// whole batches (storage/capabilities.h). Made by Store::NewBatch, filled on one thread, given to
// Store::Submit. Everything passed in is copied (encoded) at once: no view needs to outlive the
// call. Two implementations: an engine's own, which encodes straight into its format, and
// PreviewBatch (dry runs). Beside it Arena, where copied bytes stay. None of them is thread-safe.
// RowWatch, by which a batch is refused that others came before, is.
#ifndef TALLYD_STORAGE_BATCH_H_
#define TALLYD_STORAGE_BATCH_H_

#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/cell_merge.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Bigtable's hard limits.
inline constexpr size_t kMaxRowKeyBytes = 4096;
inline constexpr size_t kMaxQualifierBytes = 16'384;
inline constexpr size_t kMaxValueBytes = 104'857'600;
// Of memos (Batch::PutMemo).
inline constexpr size_t kMaxMemoKeyBytes = 1u << 10;
inline constexpr size_t kMaxMemoValueBytes = 1u << 20;

// What to forget: every cell committed before this in the rows of `rows`, narrowed to a family, a
// column, a range of cell times where given. What is written later is stored, however old its time.
//
// No scan that begins after the batch was answered returns what it forgets. The bytes may leave the
// disk later. A store that cannot hide a range as a whole may take long to answer a delete of many
// rows, and scans that begin meanwhile may miss some of them.
struct DeleteSpec {
  KeyRange rows;
  std::optional<FamilyId> family;
  std::optional<std::string> qualifier;  // Only with family.
  TimeRange cells;
};

// When a memo is put, of a store that cannot commit it and the rows of its batch as one. A store
// with whole batches does not look at it.
enum class NoteOrder : uint8_t {
  // First: it claims something, or tells of work or doubt that the rows bring. Where it cannot be
  // put no row is written; where no row is written it stays, and costs a look for nothing.
  kBefore,
  // When all rows are there: it tells that they are.
  kAfter,
  // First, and again when rows are there: it tells of work that they bring to somebody who may
  // begin, and take it away, in between.
  kAround,
};
inline bool GoesBeforeRows(NoteOrder order) { return order != NoteOrder::kAfter; }
inline bool GoesBehindRows(NoteOrder order) { return order != NoteOrder::kBefore; }

class Batch {
 public:
  virtual ~Batch() = default;

  // Room for so many calls of Put; others may follow, or none.
  virtual void Expect(size_t /*puts*/) {}

  // The cells that one event writes to one row; all carry the event's time. `values` are in the
  // order of `set`'s columns; a null value is an absent cell. REQUIRES: key, qualifiers, values
  // within the limits above; at least one value.
  //
  // In an aggregate family a value is a state (config/values/aggregate.h), and `time` is its cell's
  // (CellTime): what is written to one cell is folded, until a delete that was put or committed
  // between hides what came before it. REQUIRES: IsState of the family's kind.
  virtual void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                   const ColumnSet& set, std::span<const Value> values) = 0;
  // The same with columns that do not recur: in any order, no column twice.
  virtual void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                   std::span<const ColumnRef> columns, std::span<const Value> values) = 0;

  virtual void Delete(const TableInfo& table, const DeleteSpec& what) = 0;

  // Remembers that the stream has this field with these types (FieldInfo::type_bits). Idempotent.
  // This and the next two are notes that come before the rows of their batch (NoteOrder::kBefore).
  virtual void AddField(std::string_view stream, std::string_view field, uint8_t type_bits) = 0;
  // Remembers that of all spellings of this field's compact name the stream saw this one last, as
  // of this batch.
  virtual void NoteSpelling(std::string_view stream, std::string_view field) = 0;

  // Remembers that the table missed the field (MissedField::how) in an event of this batch.
  virtual void AddMissed(const TableInfo& table, std::string_view field, uint8_t how) = 0;

  // A memo is a small fact that a layer above keeps by a key of its own (Store::FindMemo). It is
  // committed with the batch or not at all where there are whole batches, and elsewhere when it
  // says. Of one key the last change counts. REQUIRES: the key has at least a byte, and key and
  // value are within the limits above.
  virtual void PutMemo(std::string_view key, std::string_view value, NoteOrder order) = 0;
  // Behind all else.
  virtual void DropMemo(std::string_view key) = 0;

  // What the batch adds up counts under this claim (Claiming) or not at all. Once, and only where
  // there are claims.
  virtual void CountUnder(std::string_view /*claim*/, std::string_view /*owner*/) {}

  virtual bool empty() const = 0;
};

// RowWatch: what was written to a table since somebody looked at it, for whoever writes there what
// it read elsewhere, and must not put it over what came meanwhile (Store::WatchRows).
//
//   const std::shared_ptr<RowWatch> watch = store.WatchRows(*table, before);
//   watch->Restart();                                  // Before the reading begins.
//   ... read, and fill a batch ...
//   store.CommitUnlessTouched(std::move(batch), watch);  // kConflict: read again.
//
// It notes rows and times, of cells that are older than `before` only. Thread-safe.
class RowWatch {
 public:
  RowWatch(TableId table, TimeUs before) : table_(table), before_(before) {}
  RowWatch(const RowWatch&) = delete;
  RowWatch& operator=(const RowWatch&) = delete;

  TableId table() const { return table_; }
  bool Watches(TimeUs time) const { return time < before_; }
  // Forgets what was noted: what is read from now on has it.
  void Restart();

  // For stores, before they answer whoever wrote. A place is a row and a time.
  static uint64_t PlaceOf(std::string_view row_key, TimeUs time);
  void Note(uint64_t place);
  // Something was deleted, or nobody knows what was written.
  void NoteAll();
  bool WasTouched(uint64_t place) const;
  bool WasAnyTouched() const;

 private:
  static constexpr size_t kMaxPlaces = 1u << 20;  // More are all.

  const TableId table_;
  const TimeUs before_;
  mutable std::mutex mutex_;
  bool all_ = false;  // Guarded by mutex_, like the next.
  boost::unordered_flat_set<uint64_t> places_;
};

// The watches that somebody still holds. Thread-safe; costs whoever commits nothing while there is
// none.
class RowWatches {
 public:
  std::shared_ptr<RowWatch> Add(TableId table, TimeUs before);
  bool any() const { return any_.load(std::memory_order_acquire); }
  std::vector<std::shared_ptr<RowWatch>> All();

 private:
  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  std::vector<std::weak_ptr<RowWatch>> watches_;  // Guarded by mutex_.
};

// Arena: bytes that stay where they are until Reset. Copies of what a row or a batch views, without
// an allocation each.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    if (bytes.size() > kChunkBytes / 4) {
      large_.push_back(std::make_unique<char[]>(bytes.size()));
      std::memcpy(large_.back().get(), bytes.data(), bytes.size());
      return {large_.back().get(), bytes.size()};
    }
    if (chunk_ == chunks_.size() || used_ + bytes.size() > kChunkBytes) NextChunk();
    char* place = chunks_[chunk_].get() + used_;
    std::memcpy(place, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {place, bytes.size()};
  }

  // Room for so many bytes at most, of which those up to `end` stay from Keep on. No other call
  // comes between. REQUIRES: a small part of a chunk, as keys are.
  char* Reserve(size_t bytes) {
    if (chunk_ == chunks_.size() || used_ + bytes > kChunkBytes) NextChunk();
    return chunks_[chunk_].get() + used_;
  }
  std::string_view Keep(const char* end) {
    const char* const begin = chunks_[chunk_].get() + used_;
    const auto size = static_cast<size_t>(end - begin);
    used_ += size;
    return {begin, size};
  }

  // Invalidates every copy; keeps a few chunks for the next use.
  void Reset() {
    large_.clear();
    if (chunks_.size() > kKeptChunks) chunks_.resize(kKeptChunks);
    chunk_ = 0;
    used_ = 0;
  }

 private:
  static constexpr size_t kChunkBytes = 64u << 10;
  static constexpr size_t kKeptChunks = 16;

  void NextChunk() {
    if (chunk_ < chunks_.size()) ++chunk_;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<char[]>(kChunkBytes));
    used_ = 0;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::vector<std::unique_ptr<char[]>> large_;
  size_t chunk_ = 0;  // The chunk in use; chunks_.size() before the first.
  size_t used_ = 0;
};

struct PreviewTable {
  TableInfo table;
  std::vector<Row> rows;  // In key order.
};

// PreviewBatch: a Batch that is never submitted: what it would write, as rows, for dry runs.
//
//   PreviewBatch preview;
//   mapper.Map(events, arrival, &preview);
//   for (const PreviewTable& table : preview.Tables()) for (const Row& row : table.rows) ...
//
// Rows merge as the store merges them (of one row, column and time the later wins, or all fold;
// latest tables keep the newest), as if the store were empty. What Tables() returns views the
// PreviewBatch and is valid until the next Put.
class PreviewBatch final : public Batch {
 public:
  PreviewBatch() = default;
  PreviewBatch(const PreviewBatch&) = delete;
  PreviewBatch& operator=(const PreviewBatch&) = delete;

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override;
  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override;
  void Delete(const TableInfo& table, const DeleteSpec& what) override;
  void AddField(std::string_view, std::string_view, uint8_t) override {}
  void NoteSpelling(std::string_view, std::string_view) override {}
  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  void PutMemo(std::string_view, std::string_view, NoteOrder) override {}
  void DropMemo(std::string_view) override {}
  bool empty() const override { return tables_.empty(); }

  // The tables in the order of their first use.
  std::vector<PreviewTable> Tables() const;

 private:
  struct Cell {
    ColumnRef column;
    WriteMoment written;
    Value value;
  };
  using Rows = std::map<std::string, std::vector<Cell>, std::less<>>;
  struct Entry {
    TableInfo table;
    Rows rows;
  };

  void Merge(const TableInfo& table, std::vector<Cell>* cells) const;
  Entry& Find(const TableInfo& table);
  void PutCells(Entry* entry, std::string_view row_key, TimeUs time,
                std::span<const ColumnRef> columns, std::span<const Value> values);

  uint64_t puts_ = 0;
  std::vector<std::unique_ptr<Entry>> tables_;
  Arena arena_;
  mutable Arena folded_;  // What Tables makes.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BATCH_H_
