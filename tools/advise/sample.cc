#include "tools/advise/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ingest/decode/decode.h"
#include "tools/transfer/event_file.h"

namespace tallyd {
namespace {

constexpr BatchLimits kBatch{1u << 20, 1000};

Error At(const std::string& file, uint64_t line, const std::string& why) {
  return Invalid(fmt::format("{}:{}: {}", file, line, why));
}

// Looks at events, and adds them up.
class SampleReader {
 public:
  SampleReader(const std::string& file, const AdviseSubject& subject) : subject_(subject) {
    sample_.file = file;
    sample_.times = {kMaxTimeUs, 0};
  }

  Result<Sample> Read() {
    Result<EventFile> file = EventFile::Open(sample_.file, BodyKind::kNdjson);
    if (!file) return file.error();
    FileBatch batch;
    while (sample_.bytes < kSampleBytes) {
      const Result<bool> more = file->Next(kBatch, &batch);
      if (!more) return more.error();
      if (!*more) break;
      if (Status taken = Take(std::move(batch)); !taken) return taken.error();
    }
    if (sample_.events == 0) return Invalid(sample_.file + " holds no event");
    const Result<bool> more = file->Next(kBatch, &batch);
    sample_.cut = more && *more;
    sample_.timed = timed_ == sample_.events;
    return std::move(sample_);
  }

 private:
  Status Take(FileBatch&& batch) {
    batch.body.reserve(batch.body.size() + kBodyPadding);
    events_.Clear();
    const BodyFormat& format = *FindBodyFormat("application/x-ndjson");
    const Status decoded = decoder_.Decode(format, batch.body, shapes_, &events_);
    if (const auto& errors = events_.errors().kept(); !errors.empty()) {
      const EventError& first = errors.front();
      const uint64_t line =
          first.index < batch.lines.size() ? batch.lines[first.index] : batch.lines.back();
      return At(sample_.file, line, (first.field.empty() ? "" : first.field + ": ") + first.detail);
    }
    if (!decoded) return At(sample_.file, batch.lines.front(), decoded.error().message());
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event event = events_.event(i);
      if (Status added = Add(event); !added) {
        return At(sample_.file, batch.lines[event.index], added.error().message());
      }
    }
    sample_.events += events_.size();
    sample_.bytes += batch.body.size();
    sample_.batches.push_back({std::move(batch.body), std::move(batch.lines)});
    sample_.batches.back().body.reserve(sample_.batches.back().body.size() + kBodyPadding);
    return {};
  }

  Status Add(const Event& event) {
    Sample::Entity entity;
    for (const std::string& field : subject_.entity) {
      const Value* const value = event.Find(field);
      if (value == nullptr) {
        return Invalid("the event has no field " + field + ", which --entity names");
      }
      entity.push_back(ToText(*value));
    }
    ++sample_.entities[entity];
    const Value* const given = event.Find(subject_.time_field);
    if (given == nullptr) return {};
    const std::string_view digits = event.batch->DigitsOf(*given);
    const Result<TimeUs> time = ParseEventTime(*given, subject_.unit, digits);
    if (!time) return time.error().Prefixed(subject_.time_field);
    ++timed_;
    sample_.times.from = std::min(sample_.times.from, *time);
    sample_.times.to = std::max(sample_.times.to, *time + 1);
    return {};
  }

  const AdviseSubject& subject_;
  Sample sample_;
  uint64_t timed_ = 0;
  EventDecoder decoder_;
  ShapeRegistry shapes_;
  EventBatch events_;
};

}  // namespace

double Sample::EventsIn(int64_t us) const {
  const int64_t span = times.to - times.from - 1;
  if (span <= 0) return 0;
  // So many events of an entity have one pause less between them.
  const auto pauses = static_cast<double>(events - entities.size());
  const double each = pauses / static_cast<double>(entities.size());
  return each * static_cast<double>(us) / static_cast<double>(span);
}

Result<Sample> ReadSample(const std::string& file, const AdviseSubject& subject) {
  return SampleReader(file, subject).Read();
}

}  // namespace tallyd
