#include "storage/bigtable/wire/bulk_write.h"

#include <algorithm>
#include <utility>

#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr size_t kRowsOfCall = 2000;
constexpr size_t kMutationsOfCall = 50'000;  // Bigtable takes 100,000.
constexpr size_t kBytesOfCall = 8u << 20;    // And 256 MiB.

const std::string& KeyOf(const BulkRow& row) {
  return row.entry != nullptr ? row.entry->row_key() : row.check->row_key();
}

// Which rows a call has, by their places.
struct Call {
  MutateRowsTry attempt;
  std::vector<size_t> rows;
};

std::vector<Call> Cut(BigtableClient* client, std::vector<BulkRow>* rows,
                      const std::vector<size_t>& left) {
  std::vector<Call> calls;
  size_t mutations = 0;
  size_t bytes = 0;
  for (const size_t at : left) {
    BulkRow& row = (*rows)[at];
    if (row.entry == nullptr) continue;
    const auto own_mutations = static_cast<size_t>(row.entry->mutations_size());
    const size_t own_bytes = row.entry->ByteSizeLong();
    const bool fits = !calls.empty() && calls.back().attempt.request.table_name() == *row.table &&
                      calls.back().rows.size() < kRowsOfCall &&
                      mutations + own_mutations <= kMutationsOfCall &&
                      bytes + own_bytes <= kBytesOfCall;
    if (!fits) {
      Call& call = calls.emplace_back();
      call.attempt.request.set_table_name(*row.table);
      call.attempt.request.set_app_profile_id(client->config().app_profile);
      mutations = 0;
      bytes = 0;
    }
    mutations += own_mutations;
    bytes += own_bytes;
    calls.back().rows.push_back(at);
    *calls.back().attempt.request.add_entries() = std::move(*row.entry);
  }
  return calls;
}

void SendBulk(BigtableClient* client, std::vector<BulkRow>* rows, const std::vector<size_t>& left,
              SteadyTime deadline) {
  std::vector<Call> calls = Cut(client, rows, left);
  std::vector<MutateRowsTry> tries;
  for (Call& call : calls) tries.push_back(std::move(call.attempt));
  client->MutateRows(tries, deadline);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (size_t j = 0; j < calls[i].rows.size(); ++j) {
      BulkRow& row = (*rows)[calls[i].rows[j]];
      row.ended = std::move(tries[i].ended[j]);
      *row.entry = std::move(*tries[i].request.mutable_entries(static_cast<int>(j)));
    }
  }
}

void SendChecks(BigtableClient* client, std::vector<BulkRow>* rows, const std::vector<size_t>& left,
                SteadyTime deadline) {
  std::vector<size_t> places;
  std::vector<CheckAndMutateTry> tries;
  for (const size_t at : left) {
    BulkRow& row = (*rows)[at];
    if (row.check == nullptr) continue;
    places.push_back(at);
    tries.emplace_back().request.Swap(row.check);
    tries.back().request.set_table_name(*row.table);
    tries.back().request.set_app_profile_id(client->config().app_profile);
  }
  client->CheckAndMutateRows(tries, deadline);
  for (size_t i = 0; i < places.size(); ++i) {
    BulkRow& row = (*rows)[places[i]];
    row.check->Swap(&tries[i].request);
    row.ended = std::move(tries[i].ended);
    row.matched = tries[i].response.predicate_matched();
  }
}

void AwaitTurn(BigtableClient* client, size_t rows, SteadyTime deadline) {
  const SteadyTime at = client->pace().Reserve(rows, std::chrono::steady_clock::now());
  client->ending().WaitUntil(std::min(at, deadline));
}

// A service that has too much to do says so of rows, too.
void HearRefusals(BigtableClient* client, const std::vector<BulkRow>& rows,
                  const std::vector<size_t>& left) {
  constexpr std::chrono::seconds kPeriod(10);
  const bool is_refused = std::ranges::any_of(
      left, [&](size_t at) { return rows[at].ended.code == RpcCode::kResourceExhausted; });
  if (!is_refused) return;
  client->pace().Hear(WritePace::kLeastFactor, kPeriod, std::chrono::steady_clock::now());
}

// Of the event that wrote it.
int64_t TimeOf(const data_api::Mutation& mutation) {
  return mutation.has_set_cell() ? mutation.set_cell().timestamp_micros()
                                 : mutation.add_to_cell().timestamp().raw_timestamp_micros();
}

// Where the part ends that begins there: what one event wrote stays together where it can.
int EndOfPart(const data_api::MutateRowsRequest::Entry& entry, int begin) {
  if (entry.mutations_size() - begin <= kMutationsOfPart) return entry.mutations_size();
  const int most = begin + kMutationsOfPart;
  int end = most;
  while (end > begin && TimeOf(entry.mutations(end)) == TimeOf(entry.mutations(end - 1))) --end;
  return end > begin ? end : most;
}

// The parts of a row behind its first, which stays in the entry.
std::vector<data_api::MutateRowsRequest::Entry> CutOff(data_api::MutateRowsRequest::Entry* entry) {
  std::vector<data_api::MutateRowsRequest::Entry> parts;
  const int first = EndOfPart(*entry, 0);
  if (first == entry->mutations_size()) return parts;
  for (int begin = first; begin < entry->mutations_size();) {
    const int end = EndOfPart(*entry, begin);
    data_api::MutateRowsRequest::Entry& part = parts.emplace_back();
    part.set_row_key(entry->row_key());
    if (entry->has_idempotency()) {
      *part.mutable_idempotency() = entry->idempotency();
      part.mutable_idempotency()->mutable_token()->append("+" + std::to_string(parts.size()));
    }
    for (; begin < end; ++begin) part.add_mutations()->Swap(entry->mutable_mutations(begin));
  }
  entry->mutable_mutations()->DeleteSubrange(first, entry->mutations_size() - first);
  return parts;
}

// Each row in one call.
void WriteWhole(BigtableClient* client, std::vector<BulkRow>* rows, SteadyTime deadline,
                Paced paced) {
  std::vector<size_t> left(rows->size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::ranges::sort(left, [&](size_t a, size_t b) {
    const int order = (*rows)[a].table->compare(*(*rows)[b].table);
    return order != 0 ? order < 0 : KeyOf((*rows)[a]) < KeyOf((*rows)[b]);
  });
  Retry retry(client->ending(), deadline);
  while (true) {
    if (paced == Paced::kYes) AwaitTurn(client, left.size(), deadline);
    for (const size_t at : left) {
      const BulkRow& row = (*rows)[at];
      if (row.before_try != nullptr) row.before_try(row.entry);
    }
    const SteadyTime until = retry.attempt_deadline(client->config().attempt_us);
    SendBulk(client, rows, left, until);
    SendChecks(client, rows, left, until);
    HearRefusals(client, *rows, left);
    const size_t sent = left.size();
    for (const size_t at : left) {
      BulkRow& row = (*rows)[at];
      row.is_in_doubt = !row.ended.ok() && (row.is_in_doubt || MayBeDone(row.ended));
    }
    std::erase_if(left, [&](size_t at) {
      const BulkRow& row = (*rows)[at];
      return !IsPassing(row.ended) || (row.goes_once && row.is_in_doubt);
    });
    if (left.empty()) return;
    if (left.size() < sent) retry.Progress();
    if (!retry.MayTryAgain((*rows)[left.front()].ended)) return;
  }
}

}  // namespace

void WriteRows(BigtableClient* client, std::vector<BulkRow>* rows, SteadyTime deadline,
               Paced paced) {
  using Parts = std::vector<data_api::MutateRowsRequest::Entry>;
  std::vector<std::pair<BulkRow*, Parts>> cut;
  for (BulkRow& row : *rows) {
    if (row.entry == nullptr) continue;
    if (Parts parts = CutOff(row.entry); !parts.empty()) cut.emplace_back(&row, std::move(parts));
  }
  WriteWhole(client, rows, deadline, paced);
  for (size_t next = 0;; ++next) {
    std::vector<BulkRow*> of_parts;
    std::vector<BulkRow> sent;
    for (auto& [row, parts] : cut) {
      if (!row->ended.ok() || next >= parts.size()) continue;
      of_parts.push_back(row);
      sent.push_back(*row);
      sent.back().entry = &parts[next];
    }
    if (sent.empty()) break;
    WriteWhole(client, &sent, deadline, paced);
    for (size_t i = 0; i < sent.size(); ++i) {
      of_parts[i]->ended = std::move(sent[i].ended);
      // What went before it is there.
      of_parts[i]->is_in_doubt = !of_parts[i]->ended.ok();
    }
  }
  for (auto& [row, parts] : cut) {
    for (data_api::MutateRowsRequest::Entry& part : parts) {
      for (auto& mutation : *part.mutable_mutations()) {
        row->entry->add_mutations()->Swap(&mutation);
      }
    }
  }
}

}  // namespace tallyd
