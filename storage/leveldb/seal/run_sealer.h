// RunSealer: the entries of one table in the runs of a head -> a window writer, row by row. Of most
// rows nothing has to be decided: no delete, no rule and no other write touches them, and their
// cells go as they are into the block that is being made. All else goes through KeptEntries, entry
// by entry. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_RUN_SEALER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_RUN_SEALER_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "storage/leveldb/files/head_rows.h"
#include "storage/leveldb/read/entry_reader.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/seal/rewrite_parts.h"

namespace tallyd {

class RunSealer {
 public:
  struct Options {
    TableId table = 0;
    uint64_t sequence = 0;  // Of the head, which its entries have from now on.
    bool has_deletes = false;
    const ColumnPlan* plan = nullptr;  // All outlive the sealer, like these.
    KeptEntries* kept = nullptr;
    WindowWriter* writer = nullptr;
  };

  // The entries outlive its use.
  RunSealer(const Options& options, const HeadEntries& entries);

  // So many entries; false at the end.
  Result<bool> Step(uint32_t entries);
  uint64_t sealed() const { return sealed_; }

 private:
  // The entries of one row.
  class RowSource final : public EntrySource {
   public:
    explicit RowSource(EntryReader* reader) : reader_(*reader) {}
    void Begin(std::string_view row_key, std::span<const HeadRows::Entry> entries);

    Status SeekRow(std::string_view key) override;
    Status SeekRowBefore(std::string_view key) override;
    Status Next() override;
    Status SkipNewer(TimeUs below) override;
    Status AddTo(RowAssembler* row) override;
    Status Read(WholeEntry* entry) override;

   private:
    void Load();

    EntryReader& reader_;
    std::span<const HeadRows::Entry> left_;
  };

  // How the row at hand is sealed; kDone: all of it is.
  enum class Row { kDone, kCopied, kKept };

  bool NeedsLook(std::span<const HeadRows::Entry> entries) const;
  void BeginRow();
  // Up to so many entries of the row at hand. Returns how many: fewer, and the row is at its end.
  Result<uint32_t> Copy(uint32_t most);
  Result<uint32_t> Keep(uint32_t most);

  const Options options_;
  const bool looks_at_all_;
  HeadRows rows_;
  EntryReader reader_;
  RowSource source_;
  StoredCells cells_;
  Row row_ = Row::kDone;
  size_t copied_ = 0;  // Of the row at hand.
  uint64_t sealed_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_RUN_SEALER_H_
