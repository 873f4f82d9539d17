#include "api/opentsdb/query_answer.h"

#include <utility>

#include "api/opentsdb/metric_text.h"
#include "ingest/text/json_text.h"

namespace tallyd {

Json JsonOfTags(const PointSet& set, const SeriesGroup& group) {
  Json tags = Json::object();
  for (const auto& [place, value] : group.tags) tags[JsonName(set.tags[place])] = JsonOfText(value);
  return tags;
}

Json JsonOfTags(const PointSet& set, const PointSeries& series) {
  Json tags = Json::object();
  for (const auto& [place, value] : series.tags) {
    tags[JsonName(set.tags[place])] = JsonOfText(value);
  }
  return tags;
}

std::string TsuidOf(const std::string& metric, const PointSet& set, const PointSeries& series) {
  SeriesName name{metric, {}};
  for (const auto& [place, value] : series.tags) name.tags.emplace_back(set.tags[place], value);
  return EncodeTsuid(name);
}

OpentsdbAnswer::OpentsdbAnswer(OpentsdbQuery query, std::vector<PointSet> found)
    : query_(std::move(query)), found_(std::move(found)) {}

// All of a group but its points.
void OpentsdbAnswer::BeginGroup(std::string* chunk) {
  const OpentsdbSubQuery& asked = query_.queries[at_];
  const PointSet& set = found_[at_];
  const SeriesGroup& group = groups_[group_];
  Json json = {{"metric", JsonOfText(asked.metric)}, {"tags", JsonOfTags(set, group)}};
  Json joined = Json::array();
  for (const uint32_t place : group.joined_tags) joined.push_back(JsonOfText(set.tags[place]));
  json["aggregateTags"] = std::move(joined);
  if (query_.shows_query) json["query"] = JsonOfSubQuery(asked, at_);
  if (query_.shows_tsuids) {
    Json tsuids = Json::array();
    for (const size_t member : group.members) {
      tsuids.push_back(TsuidOf(asked.metric, set, set.series[member]));
    }
    json["tsuids"] = std::move(tsuids);
  }
  std::string text = Dump(json);
  text.pop_back();
  if (std::exchange(any_group_, true)) chunk->push_back(',');
  chunk->append(text).append(query_.as_arrays ? ",\"dps\":[" : ",\"dps\":{");
  join_.emplace(set, group, asked.question.joined_by);
  any_point_ = false;
}

void OpentsdbAnswer::AppendPoint(const SeriesPoint& point, std::string* chunk) const {
  const std::string time = std::to_string(point.time / (query_.tells_ms ? kUsPerMs : kUsPerSecond));
  if (query_.as_arrays) {
    chunk->append("[").append(time).append(",");
  } else {
    chunk->append("\"").append(time).append("\":");
  }
  if (point.value.is_null()) {
    chunk->append(query_.queries[at_].blank_is_null ? "null" : "\"NaN\"");
  } else {
    AppendJsonValue(point.value, chunk);
  }
  if (query_.as_arrays) chunk->push_back(']');
}

Result<Pulled> OpentsdbAnswer::Pull(std::string* chunk, const Wake& /*wake*/) {
  if (!std::exchange(begun_, true)) chunk->push_back('[');
  while (chunk->size() < kChunkBytes) {
    if (join_) {
      if (join_->Next()) {
        if (std::exchange(any_point_, true)) chunk->push_back(',');
        AppendPoint(join_->point(), chunk);
        continue;
      }
      join_.reset();
      chunk->append(query_.as_arrays ? "]}" : "}}");
      ++group_;
    }
    if (at_ == found_.size()) {
      chunk->append("]\n");
      return Pulled::kEnd;
    }
    if (!std::exchange(is_grouped_, true)) {
      groups_ = GroupSeries(query_.queries[at_].question, found_[at_]);
      group_ = 0;
    }
    if (group_ < groups_.size()) {
      BeginGroup(chunk);
    } else {
      ++at_;
      is_grouped_ = false;
    }
  }
  return Pulled::kMore;
}

}  // namespace tallyd
