// Walks the table of what writes must remember: of each kind of write and each duty it is done, or
// it is not.
#include "service/write/duties.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "ingest/decode/decode.h"
#include "ingest/map/late_days.h"
#include "service/idempotency/keys.h"
#include "service/write/hand_changes.h"
#include "service/write/held_removal.h"
#include "storage/leveldb_store.h"
#include "tests/ingest/padded.h"
#include "tests/service/write/test_writer.h"

namespace tallyd {
namespace {

class StillClock final : public Clock {
 public:
  TimeUs Now() const override { return 1'700'000'000 * kUsPerSecond; }
  int64_t SteadyUs() const override { return 0; }
};

constexpr TimeUs kWrittenDay = 19'000 * kUsPerDay;  // 2022-01-08, long past.

std::string DutyTables(bool holds) {
  // Series of what is held are not counted.
  return std::string("[streams.s]\n") + (holds ? "" : "max_series = 1000\n") +
         "[tables.T]\nstream = \"s\"\nfamilies.F = {}\n" +
         (holds ? "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nflush = \"10s\"\n"
                : "pattern = \"new-cell\"\nrow_key = \"{k}#{ts:day}\"\n"
                  "daily = { name = \"T_{date}\" }\n");
}

// A store with a table, and a nightly one of kWrittenDay; all that is written is of that day.
class WrittenWorld {
 public:
  explicit WrittenWorld(bool holds = false) {
    std::string pattern = std::filesystem::temp_directory_path() / "tallyd-duties-XXXXXX";
    path_ = mkdtemp(pattern.data());
    LevelDbStoreOptions options;
    options.storage.path = path_ + "/data";
    options.storage.ballast = 0;
    options.clock = &clock_;
    options.registry = &registry_;
    store = std::move(*OpenLevelDbStore(options));
    auto schema = std::make_shared<Schema>(*ParseConfig(DutyTables(holds), "test.toml")->schema);
    if (!holds) {
      Table nightly = schema->tables.front();
      nightly.name = kNightly;
      nightly.daily.reset();
      nightly.nightly = NightlyOf{"T", kWrittenDay};
      schema->tables.push_back(std::move(nightly));
    }
    EXPECT_TRUE(store->Adopt(*schema));
    writing = std::make_unique<TestWriter>(*store, clock_, registry_);
    writing->PutInForce(schema, *store);
    table = store->FindTable("T");
    keys = std::make_unique<IdempotencyKeys>(store.get(), &clock_);
    if (!holds) PutNightly();
  }
  ~WrittenWorld() {
    keys.reset();
    writing.reset();
    store->Close();
    store.reset();
    std::filesystem::remove_all(path_);
  }
  WrittenWorld(const WrittenWorld&) = delete;
  WrittenWorld& operator=(const WrittenWorld&) = delete;

  Writer& writer() { return writing->writer; }
  std::string Key() const { return "a#20220108"; }

  Status Do(WriteKind kind) {
    switch (kind) {
      case WriteKind::kEvents:
        return WriteEvents();
      case WriteKind::kRow:
        return ChangeRow();
      case WriteKind::kRemoveRows: {
        const DeleteSpec what{PrefixRange("a#"), {}, {}, {}};
        return writer().RemoveRows(Anybody(), table, {&what, 1});
      }
      case WriteKind::kRemoveEvents:
        return RemoveEvents();
      case WriteKind::kNightly:
        return writer().PutCopied(TheDaemon(), OneRow());
      case WriteKind::kFill:
      case WriteKind::kRestore:
        return PutRead(kind);
      case WriteKind::kFillAnew:
        return writer().BeginAnew(TheDaemon(), table, {}, [](uint64_t, Batch*) {});
    }
    return Invalid("no such kind");
  }

  static constexpr char kNightly[] = "T_20220108";
  std::unique_ptr<Store> store;
  std::unique_ptr<TestWriter> writing;
  std::unique_ptr<IdempotencyKeys> keys;
  TablePtr table;
  // A job's reading, where it was before something else.
  std::optional<uint64_t> removals;

 private:
  std::unique_ptr<Batch> OneRow(const char* name = "T") {
    std::unique_ptr<Batch> batch = store->NewBatch();
    const std::vector<ColumnRef> columns = {{0, "n"}};
    const std::vector<Value> values = {Value::Int(1)};
    batch->Put(*store->FindTable(name), Key(), kWrittenDay, columns, values);
    return batch;
  }
  void PutNightly() { EXPECT_TRUE(store->Commit(OneRow(kNightly))); }

  std::unique_ptr<KeyClaim> Claim() {
    std::unique_ptr<KeyClaim> claim;
    KeyedRequest request;
    request.scope = "test";
    request.key = "k";
    keys->Claim(request, [&](std::unique_ptr<KeyClaim> granted) { claim = std::move(granted); });
    return claim;
  }

  Status WriteEvents() {
    const Padded body("[{\"k\":\"a\",\"ts\":" + std::to_string(kWrittenDay / kUsPerMs + 1) +
                      ",\"n\":1},{\"k\":\"b\",\"n\":2}]");
    RequestEvents events;
    const Status decoded = decoder_.Decode(*FindBodyFormat(""), body.view(),
                                           writing->live_schema.ShapesOf("s"), &events.Of("s"));
    if (!decoded) return decoded;
    const std::unique_ptr<KeyClaim> claim = Claim();
    EventTerms terms;
    terms.guarded = false;
    terms.claim = claim.get();
    terms.answer = [](const MapOutcome&) { return KeyedAnswer{}; };
    EventWrite write = writer().PrepareEvents(Anybody(), events, terms);
    if (write.state == EventWrite::State::kRefused) return *write.error;
    return writer().Commit(&write);
  }

  Status ChangeRow() {
    std::string key = Key();
    if (writing->counters.rows() > 0) {
      // What the key will be, an interval tells that began now.
      const TimeUs time = writing->counters.Begin(table, 10 * kUsPerSecond, clock_.Now())
                              ->TimeOf(kWrittenDay + kUsPerMs);
      key = "a#" + std::to_string(time / kUsPerMs);
    }
    Mutation set;
    set.family = FamilyId{0};
    set.qualifier = "n";
    set.time = kWrittenDay;
    set.value = Value::Int(1);
    Mutation deleted;
    deleted.kind = Mutation::Kind::kDelete;
    deleted.family = FamilyId{0};
    deleted.qualifier = "other";
    if (writing->counters.rows() > 0) deleted.qualifier = "n";
    const std::vector<Mutation> mutations = {deleted, set};
    const std::unique_ptr<KeyClaim> claim = Claim();
    const auto snapshot = writing->live_schema.snapshot();
    const Result<RowWritten> written = writer().ChangeRow(
        Anybody(), {table, *snapshot->schema->FindTable("T"), key, mutations, claim.get(),
                    [](const WrittenRows&) { return KeyedAnswer{}; }});
    return written ? Status() : Status(written.error());
  }

  // As service/removal/event_removal plans it: every table of the stream, nightly ones included.
  Status RemoveEvents() {
    const RemovalGate::Held held = writer().gate().Hold();
    EventDeletes deletes;
    deletes.stream = "s";
    deletes.batch = store->NewBatch();
    const DeleteSpec what{PrefixRange("a#"), {}, {}, {}};
    for (const TablePtr& each : store->Tables()) {
      deletes.batch->Delete(*each, what);
      deletes.tables.push_back(each->id);
    }
    AddHeld(*table, what, &deletes.held);
    const Result<uint64_t> done = writer().RemoveEvents(Anybody(), held, std::move(deletes));
    return done ? Status() : Status(done.error());
  }

  Status PutRead(WriteKind kind) {
    const auto watch = store->WatchRows(*table, kMaxTimeUs);
    LateDays late(clock_.Now());
    const auto snapshot = writing->live_schema.snapshot();
    late.Note(*snapshot->schema->FindTable("T"), kWrittenDay);
    const uint64_t read = removals ? *removals : writer().gate().Removals("s");
    RowStems stems;
    stems.AddRead(table->id, Key(), {});
    return writer().PutRead(TheDaemon(), {kind, "s", read, watch, &late, &stems}, OneRow());
  }

  StillClock clock_;
  prometheus::Registry registry_;
  std::string path_;
  EventDecoder decoder_;
};

bool HasMemo(WrittenWorld& world, const std::string& prefix) {
  return !world.store->Memos(prefix, 10)->empty();
}

// The row that is written is known to have so many bytes.
void Grow(WrittenWorld& world, uint64_t bytes) {
  RowBytes grown(RowSampling{true, 0});
  grown.Add(world.table, world.Key(), 0, bytes);
  world.writing->row_sizes.Add(grown);
}

uint64_t LargeBytes(WrittenWorld& world) {
  uint64_t bytes = 0;
  for (const auto& row : world.writing->row_sizes.Large()) bytes += row.bytes;
  return bytes;
}

bool ChecksSizes(WriteKind kind) {
  WrittenWorld world;
  Grow(world, kMaxRowBytes);
  return !world.Do(kind);
}

// What a write leaves behind that somebody else could see.
struct Traces {
  bool fields = false;
  bool arrivals = false;
  bool nightly_tables = false;  // A mark, or the row of the nightly table is gone.
  bool hand_marks = false;
  bool key = false;
  bool metrics = false;
};

Traces TracesOf(WriteKind kind) {
  WrittenWorld world;
  EXPECT_TRUE(world.Do(kind));
  Traces left;
  left.fields = std::ranges::count(world.store->Fields("s"), "n", &FieldInfo::name) > 0;
  left.arrivals = HasMemo(world, "arrival/");
  const TablePtr nightly = world.store->FindTable(WrittenWorld::kNightly);
  const auto scan = world.store->Scan(nightly, ScanSpec());
  left.nightly_tables = HasMemo(world, LateMarksOf("T")) || !*scan->Next();
  left.hand_marks = HasMemo(world, "hand/");
  left.key = HasMemo(world, "ik/");
  left.metrics = world.writing->metrics.rows.Value() > 0;
  return left;
}

// A job gives up where something went since its reading, or was changed by hand; who deletes by
// keys, where a job fills the table; and a removal of events is told to jobs.
bool KeepsApart(WriteKind kind) {
  // The swap of a nightly table does (nightly_build_test.cc), its rows may come at any time.
  if (kind == WriteKind::kNightly) return true;
  WrittenWorld world;
  RemovalGate& gate = world.writer().gate();
  const uint64_t before = gate.Removals("s");
  if (kind == WriteKind::kRemoveEvents) {
    EXPECT_TRUE(world.Do(kind));
    return gate.HasMore("s", before);
  }
  const RemovalGate::Filling filling(&gate, "T");
  world.removals = before;
  gate.NoteRemoval("s");
  std::unique_ptr<Batch> by_hand = world.store->NewBatch();
  NoteHandChange("T", HandChange::kWritten, by_hand.get());
  EXPECT_TRUE(world.store->Commit(std::move(by_hand)));
  const Status done = world.Do(kind);
  return !done && done.error().code() == ErrorCode::kConflict;
}

bool SeesToHeldCounters(WriteKind kind) {
  WrittenWorld world(true);
  EXPECT_TRUE(world.Do(WriteKind::kEvents));
  const uint64_t before = world.writing->counters.rows();
  EXPECT_EQ(before, 2u);
  if (kind == WriteKind::kEvents) return before > 0;
  EXPECT_TRUE(world.Do(kind));
  return world.writing->counters.rows() != before;
}

bool FollowsSizes(WriteKind kind) {
  WrittenWorld world;
  Grow(world, kMaxRowBytes / 5 * 4);
  const uint64_t before = LargeBytes(world);
  EXPECT_TRUE(world.Do(kind));
  return LargeBytes(world) != before;
}

size_t SeriesOf(WrittenWorld& world) {
  return world.writing->live_schema.snapshot()->series->Find(world.table->id)->size();
}

bool FollowsSeries(WriteKind kind) {
  WrittenWorld world;
  const bool takes = kind == WriteKind::kRemoveRows || kind == WriteKind::kRemoveEvents ||
                     kind == WriteKind::kFillAnew;
  if (takes) {
    EXPECT_TRUE(world.Do(WriteKind::kEvents));
  }
  const size_t before = SeriesOf(world);
  EXPECT_TRUE(world.Do(kind));
  EXPECT_TRUE(world.writer().series().Settle());
  return SeriesOf(world) != before;
}

bool IsOfTheDaemon(WriteKind kind) {
  return kind == WriteKind::kNightly || kind == WriteKind::kFill ||
         kind == WriteKind::kFillAnew || kind == WriteKind::kRestore;
}

bool IsDone(WriteKind kind, Duty duty, const Traces& left) {
  switch (duty) {
    case Duty::kScope:
      return !IsOfTheDaemon(kind);
    case Duty::kSizeCheck:
      return ChecksSizes(kind);
    case Duty::kFields:
      return left.fields;
    case Duty::kArrivals:
      return left.arrivals;
    case Duty::kNightlyTables:
      return left.nightly_tables;
    case Duty::kHandMarks:
      return left.hand_marks;
    case Duty::kGate:
      return KeepsApart(kind);
    case Duty::kKey:
      return left.key;
    case Duty::kHeldCounters:
      return SeesToHeldCounters(kind);
    case Duty::kMetrics:
      return left.metrics;
    case Duty::kRowSizes:
      return FollowsSizes(kind);
    case Duty::kSeries:
      return FollowsSeries(kind);
  }
  return false;
}

TEST(DutiesTest, EachKindOfWriteRemembersWhatItsTableSays) {
  for (size_t k = 0; k < kWriteKinds; ++k) {
    const auto kind = static_cast<WriteKind>(k);
    const Traces left = TracesOf(kind);
    for (size_t d = 0; d < kDuties; ++d) {
      const auto duty = static_cast<Duty>(d);
      const DutyRule& rule = RuleOf(kind, duty);
      EXPECT_FALSE(rule.what.empty());
      EXPECT_EQ(IsDone(kind, duty, left), rule.is_owed)
          << "kind " << k << ", duty " << d << ": " << rule.what;
    }
  }
}

}  // namespace
}  // namespace tallyd
