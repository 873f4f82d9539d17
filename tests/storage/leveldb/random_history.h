// RandomHistory: what a store may live through, drawn from a seed: batches of events and deletes,
// late and stray times, rows too wide for a block, a table with a max_bytes, clocks that pass and
// jump, rules and widths that change, settling, reopens, power cuts, bit flips. A LevelDB store
// lives through it beside the model; after every step some queries must be answered as the model
// allows. A difference is a test failure that names the seed.
//
//   RandomHistory(seed).Run();
//
// Its own choices are the same for a seed; what the store's threads do in between, and which call
// to the disk a power cut hits, is not.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_RANDOM_HISTORY_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_RANDOM_HISTORY_H_

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/storage/fault_env.h"
#include "tests/storage/model_store.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {

class RandomHistory {
 public:
  // Event times are multiples of it, or close by; the retention clock believes a jump that has held
  // for so long.
  static constexpr int64_t kUnit = 3700 * kUsPerSecond;

  explicit RandomHistory(unsigned seed);
  void Run();

 private:
  static constexpr int kSteps = 80;
  static constexpr TimeUs kStart = 300'000 * kUnit;
  static constexpr uint64_t kTimes = 12;

  // A put, a delete, or a memo.
  struct Op {
    std::string table;
    std::string row;
    TimeUs time = 0;
    std::vector<TestCell> cells;
    bool by_set = true;
    std::optional<DeleteSpec> forget;
    std::string memo;  // Its key, where the change is one of a memo, and its value; empty: none.
    std::string memo_value;
    std::string forget_family;  // Its name: the two stores give numbers of their own.
  };
  using Ops = std::vector<Op>;

  // The model, with the verbs of a store. Its clock stands still: Expire says what may be gone.
  class Model : public StoreVerbs {
   public:
    Model() { clock.now = 0; }
    Store& store() override { return store_; }
    ModelStore& model() { return store_; }

   private:
    ModelDisk disk_;
    ModelStore store_{&disk_, &clock};
  };

  // True once in so many times.
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  uint64_t Random(uint64_t n) { return random_() % n; }
  TimeUs Now() const { return store_.clock.Now(); }

  std::string RandomRow();
  TimeUs RandomTime();
  TimeRange RandomTimes();
  std::vector<KeyRange> RandomRanges();
  std::vector<TestCell> RandomCells();
  void AddWideCells(std::vector<TestCell>* cells);
  Op RandomDelete(const std::string& table);
  void MakeInputs(Op* op);
  Ops RandomOps();
  std::string RandomMemoKey();
  ScanSpec RandomSpec();
  Family RandomRules(const std::string& name);

  void Step();
  void MoveClock();
  void Write();
  void Reopen();
  void CutPower();
  void DropAndMakeAnew();
  void AdoptSchema();
  void NoteRetention();
  void NoteCap();
  Status Commit(StoreVerbs* store, const Ops& ops);
  void CommitToModel(const Ops& ops);
  uint64_t LastBatch(StoreHarness* store);

  void CheckSome();
  void CheckAll();
  void Check(const std::string& table, const ScanSpec& spec);
  void CheckSkipping(const std::string& table);
  void CheckKeysOnly(const std::string& table);
  void FlipBits();
  void CheckDamaged(const std::string& path, const std::string& what);
  bool WasWritten(const std::string& table, const Rows& rows) const;
  std::string Describe(const std::string& table, const ScanSpec& spec);

  const unsigned seed_;
  std::mt19937_64 random_;
  // Of memos alone: a seed means the same tables and cells as before there were any.
  std::mt19937_64 memo_random_;
  std::mt19937_64 wide_random_;  // The same of wide rows, and of a table's max_bytes.
  int step_ = 0;
  FaultEnv env_;
  StoreHarness store_{&env_};
  Model model_;
  Schema schema_;
  uint64_t batches_ = 0;  // Each puts its number into table M.
  TimeUs retention_ = 0;  // The furthest that the store's retention clock has been.
  // Table, row, cell and value of all that was ever put.
  std::set<std::tuple<std::string, std::string, std::string, std::string>> written_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_RANDOM_HISTORY_H_
