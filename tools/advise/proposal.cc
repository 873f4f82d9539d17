#include "tools/advise/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tallyd {
namespace {

constexpr double kMostEvents = 10'080;  // Of a bucket: those of a week at one a minute.
constexpr size_t kLongestName = 30;

std::string TomlString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(quoted), "\\u{:04x}", static_cast<unsigned>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

struct Bucket {
  const char* spec;
  int64_t us;
};

Bucket ChooseBucket(const Sample& sample) {
  constexpr std::array<Bucket, 4> kBuckets{{{"week", 7 * kUsPerDay},
                                            {"day", kUsPerDay},
                                            {"hour", 3600 * kUsPerSecond},
                                            {"minute", 60 * kUsPerSecond}}};
  for (const Bucket& bucket : kBuckets) {
    if (sample.EventsIn(bucket.us) <= kMostEvents) return bucket;
  }
  return kBuckets.back();
}

std::string EntityKey(const AdviseSubject& subject) {
  std::string key;
  for (const std::string& field : subject.entity) {
    key += (key.empty() ? "{" : "#{") + field + "}";
  }
  return key;
}

std::string TableText(const AdviseSubject& subject, const Proposal& proposal,
                      const std::string& row_key, const std::string& family) {
  std::string text =
      fmt::format("[tables.{}]\nstream   = {}\npattern  = \"{}\"\nrow_key  = {}\n", proposal.table,
                  TomlString(subject.stream), proposal.pattern, TomlString(row_key));
  if (subject.time_field != "ts") {
    text += fmt::format("time     = {}\n", TomlString(subject.time_field));
  }
  return text + fmt::format("families.F = {{{}}}\n", family);
}

}  // namespace

ProposedNames NamesFor(const std::string& stream, const std::vector<std::string>& taken) {
  std::string base;
  for (const char c : stream.substr(0, kLongestName)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    base.push_back(is_letter || is_digit ? c : '_');
    if (c >= 'a' && c <= 'z') base.back() = static_cast<char>(c - 'a' + 'A');
  }
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(taken, name) != taken.end();
  };
  for (unsigned number = 1;; ++number) {
    const std::string suffix = number == 1 ? "" : fmt::format("_{}", number);
    ProposedNames names{"T_" + base + suffix, "CURRENT_" + base + suffix};
    if (!base.empty() && base[0] >= 'A' && base[0] <= 'Z') names.history = base + suffix;
    if (!is_taken(names.history) && !is_taken(names.latest)) return names;
  }
}

std::vector<Proposal> Propose(const AdviseSubject& subject, const Sample& sample,
                              const ProposedNames& names) {
  const std::string entity = EntityKey(subject);
  const std::string moment = entity + "#{" + subject.time_field + ":ms}";
  const Bucket bucket = ChooseBucket(sample);
  const std::string period = fmt::format("#{{{}:{}}}", subject.time_field, bucket.spec);
  const double most = std::max(kMostEvents, std::ceil(sample.EventsIn(bucket.us)));
  const std::string versions = fmt::format(" max_versions = {} ", static_cast<uint64_t>(2 * most));
  std::vector<Proposal> proposals;
  const auto add = [&](const char* pattern, const std::string& row_key, const std::string& family) {
    Proposal proposal{pattern, names.history, "", std::string_view(pattern) == "latest"};
    if (proposal.is_latest) proposal.table = names.latest;
    proposal.toml = TableText(subject, proposal, row_key, family);
    proposals.push_back(std::move(proposal));
  };
  add("single-timestamp", moment, "");
  add("single-timestamp-serialized", moment, "");
  add("new-cell", entity + period, versions);
  add("new-column", entity + "#{field}" + period, "");
  add("latest", entity, "");
  return proposals;
}

std::string StreamSection(const AdviseSubject& subject) {
  if (subject.time_field == "ts" && subject.unit == TimeUnit::kMilliseconds) return {};
  return fmt::format("[streams.{}]\ntime     = {}\nunit     = \"{}\"\n\n",
                     TomlString(subject.stream), TomlString(subject.time_field),
                     ToString(subject.unit));
}

}  // namespace tallyd
