// What the keys mean stands in docs/configuration.md; a test holds its tables to these.
#include "config/file/keys.h"

#include <limits>
#include <tuple>

#include "config/file/load.h"
#include "config/values/time.h"

namespace tallyd {
namespace {

constexpr Applied kReload = Applied::kByReload;
constexpr Applied kRestart = Applied::kByRestart;

constexpr uint64_t kKiB = 1u << 10;
constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kGiB = 1u << 30;
constexpr int64_t kUsPerMinute = 60 * kUsPerSecond;
constexpr int64_t kUsPerHour = 3600 * kUsPerSecond;

// Long enough for any wait; short enough that a deadline never overflows a clock of nanoseconds.
constexpr Bounds<int64_t> kTimeout = {kUsPerMs, kUsPerDay};
constexpr Bounds<int64_t> kAnyDuration = {1, std::numeric_limits<int64_t>::max()};
// A century ahead of now is a time that can be added up.
constexpr Bounds<int64_t> kFuture = {kUsPerMs, 36'500 * kUsPerDay};

constexpr std::string_view kRequired = "required";
constexpr std::string_view kNoBound = "none: no bound";

constexpr ConfigKey<ServerConfig> kServerKeys[] = {
    {"listen", kRestart, ListenKey{&ServerConfig::listen}},
    {"hosts", kRestart, ListKey{&ServerConfig::hosts}, {}, CheckHosts},
    {"cors", kReload, ListKey{&ServerConfig::cors}, {}, CheckCors},
    {"plaintext", kRestart, BoolKey{&ServerConfig::plaintext}},
    {"threads", kRestart, CountKey{&ServerConfig::threads, {0, 1024}}},
    {"query_threads", kRestart, CountKey{&ServerConfig::query_threads, {0, 1024}}},
    {"max_body", kRestart, SizeKey{&ServerConfig::max_body, {kKiB, kGiB}}},
    {"query_memory", kRestart, SizeKey{&ServerConfig::query_memory, {kMiB, 1024 * kGiB}}},
    {"body_memory", kRestart, SizeKey{&ServerConfig::body_memory, {4 * kKiB, 1024 * kGiB}},
     "the greater of `\"128MiB\"` and four times `max_body`"},
    {"max_connections", kRestart, CountKey{&ServerConfig::max_connections, {1, 1'000'000}}},
    {"header_timeout", kRestart, DurationKey{&ServerConfig::header_timeout_us, kTimeout}},
    {"idle_timeout", kRestart, DurationKey{&ServerConfig::idle_timeout_us, kTimeout}},
    {"body_timeout", kRestart, DurationKey{&ServerConfig::body_timeout_us, kTimeout}},
    {"body_min_rate", kRestart,
     SizeKey{&ServerConfig::body_min_rate, {1, kGiB}, /*per_second=*/true}},
    {"write_timeout", kRestart, DurationKey{&ServerConfig::write_timeout_us, kTimeout}},
    {"drain_timeout", kRestart, DurationKey{&ServerConfig::drain_timeout_us, kTimeout}},
    {"tls", kReload, OwnKey{"table"}, "none"},
};

constexpr ConfigKey<TlsFiles> kTlsKeys[] = {
    {"cert", kReload, TextKey{&TlsFiles::cert}, kRequired},
    {"key", kReload, TextKey{&TlsFiles::key}, kRequired},
    {"client_ca", kReload, TextKey{&TlsFiles::client_ca}},
};

constexpr std::array kSyncs = {NamedValue<Sync>{"always", Sync::kAlways},
                               NamedValue<Sync>{"interval", Sync::kInterval}};

constexpr ConfigKey<StorageConfig> kStorageKeys[] = {
    {"engine", kRestart, WordKey<StorageConfig>{&StorageConfig::engine, kEngines}},
    {"path", kRestart, TextKey{&StorageConfig::path}, {}, CheckPath},
    {"backup_dir", kRestart, TextKey{&StorageConfig::backup_dir}, {}, CheckBackupDir},
    {"sync", kRestart, ChoiceKey{&StorageConfig::sync, kSyncs}},
    {"sync_interval", kRestart,
     DurationKey{&StorageConfig::sync_interval_us, {kUsPerMs, kUsPerHour}}},
    {"write_buffer", kRestart, SizeKey{&StorageConfig::write_buffer, {64 * kKiB, kGiB}}},
    {"seal_window", kRestart,
     DurationKey{&StorageConfig::seal_window_us, {kUsPerMinute, 3650 * kUsPerDay}}},
    {"purge_deadline", kRestart,
     DurationKey{&StorageConfig::purge_deadline_us, {kUsPerSecond, 365 * kUsPerDay}}},
    {"seal_delay", kRestart,
     DurationKey{&StorageConfig::seal_delay_us, {kUsPerMs, 30 * kUsPerDay}}},
    {"seal_cpu", kRestart,
     NumberKey<StorageConfig>{&StorageConfig::seal_cpu, 1, "is more than one core"}},
    {"block_cache", kRestart, SizeKey{&StorageConfig::block_cache, {0, 1024 * kGiB}}},
    {"max_file_size", kRestart, SizeKey{&StorageConfig::max_file_size, {kMiB, kGiB}}},
    {"bloom_bits", kRestart, CountKey{&StorageConfig::bloom_bits, {0, 64}}},
    {"queue_bytes", kRestart, SizeKey{&StorageConfig::queue_bytes, {kMiB, 64 * kGiB}}},
    {"group_bytes", kRestart, SizeKey{&StorageConfig::group_bytes, {64 * kKiB, kGiB}}},
    {"free_space_floor", kRestart, SizeKey{&StorageConfig::free_space_floor, {0, kMaxReserve}}},
    {"ballast", kRestart, SizeKey{&StorageConfig::ballast, {0, kMaxReserve}}},
    {"bigtable", kRestart, OwnKey{"table"}, "none"},
};

constexpr ConfigKey<BigtableConfig> kBigtableKeys[] = {
    {"project", kRestart, TextKey{&BigtableConfig::project}, kRequired},
    {"instance", kRestart, TextKey{&BigtableConfig::instance}, kRequired},
    {"emulator", kRestart, TextKey{&BigtableConfig::emulator}, {}, CheckEmulator},
    {"endpoint", kRestart, TextKey{&BigtableConfig::endpoint}, {}, CheckEndpoint},
    {"credentials", kRestart, TextKey{&BigtableConfig::credentials},
     "the environment's, then the metadata server's"},
    {"app_profile", kRestart, TextKey{&BigtableConfig::app_profile}},
    {"prefix", kRestart, TextKey{&BigtableConfig::prefix}, {}, CheckPrefix},
    {"create", kRestart, BoolKey{&BigtableConfig::create}},
    {"generation", kReload, CountKey{&BigtableConfig::generation, {0, INT64_MAX}}},
    {"deadline", kRestart, DurationKey{&BigtableConfig::deadline_us, {kUsPerSecond, kUsPerHour}}},
    {"attempt", kRestart, DurationKey{&BigtableConfig::attempt_us, {100 * kUsPerMs, kUsPerHour}}},
    {"channels", kRestart, CountKey{&BigtableConfig::channels, {1, 64}}},
    {"calls", kRestart, CountKey{&BigtableConfig::calls, {1, 256}}},
    {"poll", kRestart, DurationKey{&BigtableConfig::poll_us, {100 * kUsPerMs, 5 * kUsPerSecond}}},
    {"whole_batches", kRestart, BoolKey{&BigtableConfig::whole_batches}},
};

constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error"};
constexpr std::string_view kLogFormats[] = {"text", "json"};

constexpr ConfigKey<LogConfig> kLogKeys[] = {
    {"level", kReload, WordKey<LogConfig>{&LogConfig::level, kLevels}},
    {"format", kReload, WordKey<LogConfig>{&LogConfig::format, kLogFormats}},
};

constexpr ConfigKey<TokenConfig> kTokenKeys[] = {
    {"name", kReload, TextKey{&TokenConfig::name}, kRequired, CheckTokenName},
    {"sha256", kReload, TextKey{&TokenConfig::sha256}, kRequired, CheckTokenHash},
    {"role", kReload, OwnKey{"string, or array of strings"}, kRequired},
    {"scope", kReload, OwnKey{"table"}, "none"},
    {"expires", kReload, MomentKey{&TokenConfig::expires}, "never"},
};

// [streams.NAME] has these keys, too.
constexpr ConfigKey<IngestGuards> kIngestKeys[] = {
    {"min_time", kReload, MomentKey{&IngestGuards::min_time}},
    {"max_future", kReload, DurationOrOffKey<IngestGuards>{&IngestGuards::max_future_us, kFuture}},
};

constexpr ConfigKey<InfluxConfig> kInfluxKeys[] = {
    {"stream", kReload, TextKey{&InfluxConfig::stream}, kRequired},
    {"tables", kReload, BoolKey{&InfluxConfig::tables}},
};

constexpr ConfigKey<OpenTsdbConfig> kOpenTsdbKeys[] = {
    {"stream", kReload, TextKey{&OpenTsdbConfig::stream}, kRequired},
    {"tables", kReload, BoolKey{&OpenTsdbConfig::tables}},
    {"telnet", kRestart, TextKey{&OpenTsdbConfig::telnet}, {}, CheckTelnet},
    {"telnet_token", kReload, TextKey{&OpenTsdbConfig::telnet_token}},
};

constexpr std::array kTimeUnits = {NamedValue<TimeUnit>{"s", TimeUnit::kSeconds},
                                   NamedValue<TimeUnit>{"ms", TimeUnit::kMilliseconds},
                                   NamedValue<TimeUnit>{"us", TimeUnit::kMicroseconds},
                                   NamedValue<TimeUnit>{"ns", TimeUnit::kNanoseconds}};

constexpr ConfigKey<Stream> kStreamKeys[] = {
    {"time", kReload, TextKey{&Stream::time_field}, {}, CheckStreamTime},
    {"unit", kReload, ChoiceKey{&Stream::unit, kTimeUnits}},
    {"time_required", kReload, BoolKey{&Stream::time_required}},
    {"labels", kReload, ListKey{&Stream::labels}},
    {"max_series", kReload, CountKey{&Stream::max_series, {1, INT64_MAX}}, kNoBound},
    {"max_fields", kReload, CountKey{&Stream::max_fields, {1, INT64_MAX}}, kNoBound},
    {"every", kReload, DurationKey{&Stream::every_us, kAnyDuration}},
    {"fields", kReload, OwnKey{"table"}, "none"},
    {"queries", kReload, OwnKey{"array of tables"}, "none"},
};

constexpr ConfigKey<FieldHints> kFieldKeys[] = {
    {"personal", kReload, BoolKey{&FieldHints::personal}},
    {"sequential", kReload, BoolKey{&FieldHints::sequential}},
    {"domain", kReload, BoolKey{&FieldHints::domain}},
    {"distinct", kReload, CountKey{&FieldHints::distinct, {1, INT64_MAX}}},
    {"keep", kReload, DurationKey{&FieldHints::keep_us, kAnyDuration}},
};

constexpr ConfigKey<QueryHint> kQueryKeys[] = {
    {"fields", kReload, ListKey{&QueryHint::fields}},
    {"time", kReload, BoolKey{&QueryHint::time}},
    {"newest_first", kReload, BoolKey{&QueryHint::newest_first}},
    {"weight", kReload, NumberKey<QueryHint>{&QueryHint::weight}},
};

constexpr std::array kKeeps = {NamedValue<bool>{"cells", false}, NamedValue<bool>{"row", true}};

constexpr ConfigKey<Table> kTableKeys[] = {
    {"stream", kReload, TextKey{&Table::stream}, "the table's own name", CheckTableStream},
    {"pattern", kReload, OwnKey{"string"}, kRequired},
    {"row_key", kReload, OwnKey{"string"}, kRequired},
    {"families", kReload, OwnKey{"table"}, "required, at least one"},
    {"columns", kReload, OwnKey{"array of tables"},
     "the pattern's default rule, where there is one family; with several it is required"},
    {"time", kReload, TextKey{&Table::time_field}, "the stream's", CheckTableTime},
    {"when", kReload, ListKey{&Table::when}},
    {"daily", kReload, OwnKey{"table"}, "none"},
    {"fill", kReload, BoolKey{&Table::fill}},
    {"flush", kReload, DurationKey{&Table::flush_us, {100 * kUsPerMs, kUsPerDay}}},
    {"max_bytes", kReload, SizeKey{&Table::max_bytes, {kKiB, uint64_t{1} << 60}}},
    {"keep", kReload, ChoiceKey{&Table::keep_row, kKeeps}},
};

constexpr std::array kExpiries = {NamedValue<bool>{"any", false}, NamedValue<bool>{"all", true}};

constexpr auto kAggregateNames = [] {
  std::array<NamedValue<Aggregate>, kAggregates.size()> names = {};
  for (size_t i = 0; i < names.size(); ++i) names[i] = {kAggregates[i].name, kAggregates[i].kind};
  return names;
}();

constexpr ConfigKey<Family> kFamilyKeys[] = {
    {"max_age", kReload, DurationKey{&Family::max_age_us, kAnyDuration}, "none: for ever"},
    {"max_versions", kReload, CountKey{&Family::max_versions, {1, INT32_MAX}}, "none: all"},
    {"gc", kReload, ChoiceKey{&Family::expire_by_both, kExpiries}},
    {"aggregate", kReload, ChoiceKey{&Family::aggregate, kAggregateNames}, "none: a plain family"},
    {"bucket", kReload,
     DurationKey{&Family::bucket_us, {kUsPerMs, std::numeric_limits<int64_t>::max()}},
     "none: an event's own time"},
};

constexpr ConfigKey<Daily> kDailyKeys[] = {
    {"name", kReload, OwnKey{"string"}, kRequired},
    {"at", kReload, TimeOfDayKey{&Daily::at_us}},
    {"keep", kReload, DurationKey{&Daily::keep_us, kAnyDuration}, "none: for ever"},
};

constexpr std::array kCompact = {NamedValue<bool>{"compact", true}};
constexpr std::array kSerializations = {
    NamedValue<Serialization>{"protobuf", Serialization::kProtobuf},
    NamedValue<Serialization>{"json", Serialization::kJson},
    NamedValue<Serialization>{"cbor", Serialization::kCbor}};

constexpr ConfigKey<ColumnRule> kColumnKeys[] = {
    {"family", kReload, OwnKey{"string"}, kRequired},
    {"fields", kReload, ListKey{&ColumnRule::fields},
     "all that neither the row key nor the time uses", CheckRuleFields},
    {"name", kReload, OwnKey{"string"}, "the pattern's"},
    {"value", kReload, OwnKey{"string"}, "the pattern's"},
    {"rename", kReload, OwnKey{"table"}, "none"},
    {"names", kReload, ChoiceKey{&ColumnRule::compact_names, kCompact}, "names as they are"},
    {"serialize", kReload, ChoiceKey{&ColumnRule::serialize, kSerializations},
     "none; `\"protobuf\"` in `single-timestamp-serialized` and `new-cell-serialized`, unless the "
     "rule has a `value`"},
};

template <class S, size_t kCount>
constexpr std::span<const ConfigKey<S>> AllOf(const ConfigKey<S> (&keys)[kCount]) {
  return keys;
}

constexpr std::tuple kTables = {
    AllOf(kServerKeys), AllOf(kTlsKeys),    AllOf(kStorageKeys), AllOf(kBigtableKeys),
    AllOf(kLogKeys),    AllOf(kIngestKeys), AllOf(kStreamKeys),  AllOf(kFieldKeys),
    AllOf(kQueryKeys),  AllOf(kTableKeys),  AllOf(kFamilyKeys),  AllOf(kDailyKeys),
    AllOf(kColumnKeys), AllOf(kTokenKeys),  AllOf(kInfluxKeys),  AllOf(kOpenTsdbKeys),
};

}  // namespace

template <class S>
std::span<const ConfigKey<S>> ConfigKeys() {
  return std::get<std::span<const ConfigKey<S>>>(kTables);
}

template std::span<const ConfigKey<ServerConfig>> ConfigKeys();
template std::span<const ConfigKey<TlsFiles>> ConfigKeys();
template std::span<const ConfigKey<StorageConfig>> ConfigKeys();
template std::span<const ConfigKey<BigtableConfig>> ConfigKeys();
template std::span<const ConfigKey<LogConfig>> ConfigKeys();
template std::span<const ConfigKey<IngestGuards>> ConfigKeys();
template std::span<const ConfigKey<Stream>> ConfigKeys();
template std::span<const ConfigKey<FieldHints>> ConfigKeys();
template std::span<const ConfigKey<QueryHint>> ConfigKeys();
template std::span<const ConfigKey<Table>> ConfigKeys();
template std::span<const ConfigKey<Family>> ConfigKeys();
template std::span<const ConfigKey<Daily>> ConfigKeys();
template std::span<const ConfigKey<ColumnRule>> ConfigKeys();
template std::span<const ConfigKey<TokenConfig>> ConfigKeys();
template std::span<const ConfigKey<InfluxConfig>> ConfigKeys();
template std::span<const ConfigKey<OpenTsdbConfig>> ConfigKeys();

}  // namespace tallyd
