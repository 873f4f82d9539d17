#include "storage/leveldb/files/view.h"

#include <fmt/format.h>
#include <leveldb/env.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// A skip list's nodes and a batch's headers beside the bytes themselves: the buffer is never full
// before the head is, unless the head is larger than LevelDB's largest buffer allows.
constexpr uint64_t kBufferPerByte = 3;
// With a larger one LevelDB takes its smallest: it looks at the number as an int.
constexpr uint64_t kMaxBufferBytes = 1u << 30;
// Of what a head is to take so much may come as groups, which are in memory until it is sealed.
constexpr uint64_t kGroupsPerByte = 2;
// LevelDB writes the length of a value as 32 bits.
constexpr size_t kMaxGroupBytes = 256u << 20;
constexpr size_t kHeldBytes = 4u << 10;
constexpr auto kNever = std::chrono::steady_clock::time_point::max();

bool HoldsEntries(KeySpace space) { return space == KeySpace::kRows || space == KeySpace::kGroups; }

Result<uint64_t> BytesIn(leveldb::Env* env, const std::string& path) {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(path, &names));
  if (!listed) return listed.error();
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    uint64_t size = 0;
    const bool holds_data = name.ends_with(".log") || name.ends_with(".ldb");
    if (holds_data && env->GetFileSize(path + "/" + name, &size).ok()) bytes += size;
  }
  return bytes;
}

}  // namespace

Head::Head(std::string path, uint64_t number, leveldb::Env* env, uint64_t head_bytes)
    : path_(std::move(path)),
      number_(number),
      env_(env),
      group_bytes_(head_bytes * kGroupsPerByte),
      buffer_bytes_(std::min(head_bytes * kBufferPerByte, kMaxBufferBytes)),
      since_(kNever) {}

Head::~Head() {
  Close();
  if (!dropped_) return;
  const size_t slash = path_.rfind('/');
  RemoveHead(env_, path_.substr(0, slash), number_);
}

Result<std::shared_ptr<Head>> Head::Open(const std::string& directory, uint64_t number,
                                         const leveldb::Options& options, uint64_t head_bytes) {
  return OpenAt(HeadPath(directory, number), number, options, head_bytes);
}

Result<std::shared_ptr<Head>> Head::OpenAt(const std::string& path, uint64_t number,
                                           const leveldb::Options& options, uint64_t head_bytes) {
  std::shared_ptr<Head> head(new Head(path, number, options.env, head_bytes));
  if (!options.env->FileExists(head->path_)) {
    const Status made = FromLevelDb(options.env->CreateDir(head->path_));
    if (!made) return made.error();
  }
  leveldb::Options own = options;
  own.write_buffer_size = head->buffer_bytes_;
  own.compression = leveldb::kNoCompression;
  leveldb::DB* db = nullptr;
  const Status opened = FromLevelDb(leveldb::DB::Open(own, head->path_, &db));
  if (!opened) return opened.error();
  head->db_.reset(db);
  // What is read unchecked is cached for those who check.
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> first(db->NewIterator(checked));
  first->SeekToFirst();
  const Status read = FromLevelDb(first->status());
  if (!read) return read.error().Prefixed(head->path_);
  const Status loaded = head->LoadGroups();
  if (!loaded) return loaded.error().Prefixed(head->path_);
  head->began_empty_ = !first->Valid();
  if (first->Valid()) {
    const Result<uint64_t> bytes = BytesIn(options.env, head->path_);
    if (!bytes) return bytes.error();
    // Without any it would count as empty, and never be sealed.
    head->AddBytes(std::max<uint64_t>(1, *bytes));
  }
  head->published_ = head->TakeSnapshot();
  return head;
}

void Head::Close() {
  published_ = {};
  entries_ = std::make_shared<const HeadEntries>();
  db_.reset();
}

bool Head::TakesGroup(size_t record_bytes) const {
  return bytes() < group_bytes_ && record_bytes <= kMaxGroupBytes;
}

// What is damaged is told to whoever asks for entries: other records of the head are well.
Status Head::LoadGroups() {
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  checked.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(checked));
  const std::string begin(1, static_cast<char>(KeySpace::kGroups));
  auto entries = std::make_shared<HeadEntries>();
  for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) {
    Result<EntryRunPtr> run = EntryRun::Decode(ToView(it->value()));
    if (!run) {
      const Error error = UnreadableRecord(ToView(it->key()), run.error().message());
      entries->damage = leveldb::Status::Corruption(path_, error.message());
      break;
    }
    entries->runs = entries->runs.With(std::move(*run));
  }
  if (const leveldb::Status read = it->status(); read.IsCorruption()) {
    entries->damage = read;
  } else if (!read.ok()) {
    return FromLevelDb(read);
  }
  if (!entries->damage.ok()) entries->runs = {};
  entries_ = std::move(entries);
  return {};
}

// In LevelDB's memory, where it has come to lie: an iterator that stays where it is holds it there.
// Null where it is not found so. What is small is not worth an iterator; and where there are table
// files each iterator would read and hold something of them, too, and of memory that became such a
// file: in a head that had something when it was opened, or whose buffer may have been full.
std::shared_ptr<const char[]> Head::Hold(std::string_view key, size_t size) const {
  struct Held {
    std::shared_ptr<leveldb::DB> db;
    std::unique_ptr<leveldb::Iterator> at;
  };
  // As a head of usual size may take, for which there is room by kBufferPerByte.
  const uint64_t surely_buffered = buffer_bytes_ / kBufferPerByte * kGroupsPerByte;
  const bool is_buffered = std::max<uint64_t>(bytes(), size) <= surely_buffered;
  if (size < kHeldBytes || !began_empty_ || !is_buffered) return nullptr;
  leveldb::ReadOptions options;
  options.fill_cache = false;
  const auto held = std::make_shared<Held>(db_, nullptr);
  held->at.reset(db_->NewIterator(options));
  held->at->Seek(ToSlice(key));
  if (!held->at->Valid() || ToView(held->at->key()) != key) return nullptr;
  const leveldb::Slice value = held->at->value();
  if (value.size() != size) return nullptr;
  return {held, value.data()};
}

void Head::AddRun(std::string_view key, std::shared_ptr<EntryRun> run) {
  if (std::shared_ptr<const char[]> record = Hold(key, run->record().size())) {
    run->MoveTo(std::move(record));
  } else {
    run->MoveToOwn();
  }
  auto entries = std::make_shared<HeadEntries>(*entries_);
  entries->runs = entries->runs.With(std::move(run));
  entries_ = std::move(entries);
}

std::unique_ptr<leveldb::Iterator> Head::NewIterator(const HeadSnapshot& moment) const {
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  checked.snapshot = moment.records.get();
  return std::make_unique<HeadIterator>(
      std::unique_ptr<leveldb::Iterator>(db_->NewIterator(checked)), moment.entries);
}

HeadSnapshot Head::TakeSnapshot() {
  std::shared_ptr<const leveldb::Snapshot> records(
      db_->GetSnapshot(),
      [this](const leveldb::Snapshot* snapshot) { db_->ReleaseSnapshot(snapshot); });
  return {std::move(records), entries_};
}

Status Head::MarkClosed() {
  leveldb::WriteOptions options;
  options.sync = true;
  std::string next;
  PutU64(&next, number_ + 1);
  return FromLevelDb(db_->Put(options, MetaKey(MetaKind::kClosedHead), next));
}

Result<bool> Head::IsClosed() const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string next;
  const Status got = FromLevelDb(db_->Get(options, MetaKey(MetaKind::kClosedHead), &next));
  if (!got && got.error().code() != ErrorCode::kNotFound) return got.error();
  return got.has_value();
}

Result<uint64_t> Head::Checksum() const {
  return ChecksumOf([](KeySpace space) { return HoldsEntries(space); });
}

Result<uint64_t> Head::ChecksumOfOthers() const {
  return ChecksumOf([](KeySpace space) { return !HoldsEntries(space); });
}

Result<uint64_t> Head::ChecksumOf(bool (*counts)(KeySpace)) const {
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  checked.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(checked));
  ContentChecksum checksum;
  for (it->SeekToFirst(); it->Valid();) {
    const std::string_view key = ToView(it->key());
    if (!counts(static_cast<KeySpace>(key[0]))) {
      it->Seek(ToSlice(PrefixEnd(key.substr(0, 1))));
      continue;
    }
    std::string sizes;
    PutVarint(&sizes, key.size());
    PutVarint(&sizes, it->value().size());
    checksum.Add(sizes);
    checksum.Add(key);
    checksum.Add(ToView(it->value()));
    it->Next();
  }
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error().Prefixed(path_);
  return checksum.Get();
}

Result<std::string> Head::StoreId() const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string id;
  const Status got = FromLevelDb(db_->Get(options, MetaKey(MetaKind::kStoreId), &id));
  if (!got && got.error().code() != ErrorCode::kNotFound) return got.error().Prefixed(path_);
  return id;
}

void Head::AddBytes(uint64_t bytes) {
  if (bytes_ == 0) since_ = std::chrono::steady_clock::now();
  bytes_ += bytes;
}

void Head::CoverTimes(const TableTimes& times) {
  for (const auto& [table, range] : times) {
    TimeRange& known = times_.try_emplace(table, range).first->second;
    known = known.Joined(range);
  }
}

std::optional<TimeRange> Head::TimesOf(TableId table) const {
  if (!began_empty_) return std::nullopt;
  const auto known = times_.find(table);
  return known == times_.end() ? TimeRange{0, 0} : known->second;
}

std::string HeadsDirectory(const std::string& path) { return path + "/heads"; }

std::string HeadPath(const std::string& directory, uint64_t number) {
  return fmt::format("{}/{:06}", directory, number);
}

Result<std::vector<uint64_t>> ListHeads(leveldb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(directory, &names));
  if (!listed && listed.error().code() == ErrorCode::kNotFound) return std::vector<uint64_t>();
  if (!listed) return listed.error();
  std::vector<uint64_t> numbers;
  for (const std::string& name : names) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    // Other spellings of a number, such as "7", are no head's name, and would be another's twin.
    const bool is_number = error == std::errc() && end == name.data() + name.size();
    if (is_number && HeadPath(directory, number).ends_with("/" + name)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void RemoveHead(leveldb::Env* env, const std::string& directory, uint64_t number) {
  const std::string path = HeadPath(directory, number);
  std::vector<std::string> names;
  if (!env->GetChildren(path, &names).ok()) return;
  // What CURRENT names goes after it: with it the head stays as it is.
  std::ranges::partition(names, [](const std::string& name) { return name == "CURRENT"; });
  bool removed = true;
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    removed = env->RemoveFile(path + "/" + name).ok() && removed;
    if (!removed && name == "CURRENT") break;
  }
  // What stays is found, and removed, at the next start.
  if (!removed || !env->RemoveDir(path).ok()) {
    spdlog::warn("store: {} cannot be removed yet", path);
  }
}

namespace {

template <class List>
const List& ListOf(const std::map<TableId, std::shared_ptr<const List>>& lists, TableId table) {
  static const List none;
  const auto found = lists.find(table);
  return found == lists.end() ? none : *found->second;
}

template <class List>
void SetList(std::map<TableId, std::shared_ptr<const List>>* lists, TableId table, List list) {
  if (list.empty()) {
    lists->erase(table);
  } else {
    (*lists)[table] = std::make_shared<const List>(std::move(list));
  }
}

}  // namespace

const View::Files& View::FilesOf(TableId table) const { return ListOf(files, table); }

const DeleteList& View::DeletesOf(TableId table) const { return ListOf(deletes, table); }

DeleteList View::AllDeletes() const {
  DeleteList all;
  for (const auto& [table, list] : deletes) all.insert(all.end(), list->begin(), list->end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  return all;
}

uint64_t View::last_delete() const {
  uint64_t last = 0;
  for (const auto& [table, list] : deletes) last = std::max(last, list->front()->sequence);
  return last;
}

void View::Replace(const Files& from, const Files& to) {
  std::set<uint64_t> gone;  // Numbers are of files of any table.
  std::map<TableId, Files> changed;
  for (const BlockFilePtr& old : from) {
    changed.try_emplace(old->info().table);
    gone.insert(old->info().number);
    old->Drop();
  }
  for (const BlockFilePtr& file : to) changed.try_emplace(file->info().table);
  for (auto& [table, list] : changed) {
    std::ranges::copy_if(FilesOf(table), std::back_inserter(list), [&](const BlockFilePtr& file) {
      return !gone.contains(file->info().number);
    });
  }
  for (const BlockFilePtr& file : to) changed[file->info().table].push_back(disposer->Watch(file));
  for (auto& [table, list] : changed) SetList(&files, table, std::move(list));
}

void View::AddDeletes(const DeleteList& added) {
  std::map<TableId, DeleteList> changed;
  for (auto range = added.rbegin(); range != added.rend(); ++range) {
    changed[(*range)->table].push_back(*range);
  }
  for (auto& [table, list] : changed) {
    const DeleteList& before = DeletesOf(table);
    list.insert(list.end(), before.begin(), before.end());
    SetList(&deletes, table, std::move(list));
  }
}

void View::RemoveDelete(const DeleteRange& removed) {
  DeleteList list = DeletesOf(removed.table);
  std::erase_if(list, [&](const auto& range) { return range->sequence == removed.sequence; });
  SetList(&deletes, removed.table, std::move(list));
}

}  // namespace tallyd
