// The protocols of other systems' agents that the daemon speaks, one struct for each section
// [protocols.X]: what is not in the file is not spoken. Plain values, a part of the Schema, so that
// a reload puts protocols and streams in force together.
//
// A protocol with a stream of its own has tables there by default (config/file/load_protocols.cc):
// they are in the Schema like any that the file spells out, marked Table::of_protocol.
#ifndef TALLYD_CONFIG_SCHEMA_PROTOCOLS_H_
#define TALLYD_CONFIG_SCHEMA_PROTOCOLS_H_

#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

// The field that holds the name of a measurement of InfluxDB.
inline constexpr std::string_view kMeasurementField = "measurement";
// In place of a stream's name: each measurement goes to the stream of its own name.
inline constexpr std::string_view kStreamOfMeasurement = "{measurement}";

struct InfluxConfig {
  std::string stream;  // Of all measurements; or kStreamOfMeasurement.
  bool tables = true;  // The stream has the default tables.

  bool has_fixed_stream() const { return stream != kStreamOfMeasurement; }
  friend bool operator==(const InfluxConfig&, const InfluxConfig&) = default;
};

struct OpenTsdbConfig {
  std::string stream;
  bool tables = true;        // The stream has the default tables.
  std::string telnet;        // HOST:PORT on loopback, for lines "put ..."; empty: nowhere.
  std::string telnet_token;  // The name of the token whose role and scope these lines have.

  friend bool operator==(const OpenTsdbConfig&, const OpenTsdbConfig&) = default;
};

struct Protocols {
  std::optional<InfluxConfig> influx;
  std::optional<OpenTsdbConfig> opentsdb;

  friend bool operator==(const Protocols&, const Protocols&) = default;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_PROTOCOLS_H_
