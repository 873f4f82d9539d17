// Every byte of every file of a small store flipped, every file cut at every length, and removed:
// the store refuses and names the file, or tells all that it held, or tells all but what it names;
// never another value, nothing missing without a word, no crash, and nothing is deleted.
//
// A part of the cases by default. TALLYD_TORTURE=all takes all of them (make torture-bits), =i/n
// every n-th of all from the i-th on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "storage/leveldb/tools/verify.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

constexpr size_t kSampledCases = 500;
constexpr size_t kChunk = 100;
constexpr size_t kToldOfFile = 5;  // Failures.

using Files = std::map<std::string, std::string>;

struct Damage {
  enum class Kind : uint8_t { kFlip, kCut, kRemove };
  Kind kind = Kind::kFlip;
  const std::string* file = nullptr;  // A key of the files.
  size_t at = 0;                      // kCut: what is left.
  unsigned char mask = 0;

  std::string Describe() const {
    const std::string name = *file + " ";
    if (kind == Kind::kRemove) return name + "removed";
    if (kind == Kind::kCut) return name + "cut to " + std::to_string(at);
    return name + "byte " + std::to_string(at) + " ^ " + std::to_string(mask);
  }
  void Apply(Files* files) const {
    if (kind == Kind::kRemove) {
      files->erase(*file);
    } else if (kind == Kind::kCut) {
      (*files)[*file].resize(at);
    } else {
      (*files)[*file][at] ^= static_cast<char>(mask);
    }
  }
};

// What became of one case.
enum class Outcome : uint8_t { kRefused, kWhole, kNamed, kWrong };

struct Verdict {
  Outcome outcome = Outcome::kWrong;
  std::string detail;
};

bool MayBeDamaged(const std::string& name) {
  const std::string base = name.substr(name.rfind('/') + 1);
  return !base.empty() && base != "LOCK" && base != "LOG" && base != "LOG.old" && base != "ballast";
}

std::vector<Damage> AllDamage(const Files& files) {
  std::mt19937 random(20261121);
  std::vector<Damage> all;
  for (const auto& [name, bytes] : files) {
    if (!MayBeDamaged(name)) continue;
    for (size_t at = 0; at < bytes.size(); ++at) {
      const auto bit = static_cast<unsigned char>(1u << random() % 7);
      all.push_back({Damage::Kind::kFlip, &name, at, bit});
      all.push_back({Damage::Kind::kFlip, &name, at, 0x80});
      all.push_back({Damage::Kind::kCut, &name, at, 0});
    }
    all.push_back({Damage::Kind::kRemove, &name, 0, 0});
  }
  return all;
}

// The cases that this run is to take.
std::vector<Damage> ChosenDamage(const Files& files) {
  std::vector<Damage> all = AllDamage(files);
  const char* asked = std::getenv("TALLYD_TORTURE");
  size_t first = 0;
  size_t step = std::max<size_t>(1, all.size() / kSampledCases);
  if (asked != nullptr && std::string(asked) == "all") {
    step = 1;
  } else if (asked != nullptr) {
    std::sscanf(asked, "%zu/%zu", &first, &step);
  }
  std::vector<Damage> chosen;
  for (size_t i = first; i < all.size(); i += step) chosen.push_back(all[i]);
  return chosen;
}

class TortureTest : public ::testing::Test, public SmallStore {
 protected:
  // In a process of its own.
  class Victim {
   public:
    Victim(const TortureTest& test, const Damage& damage) : test_(test), damage_(damage) {
      harness_.config().path = test.config_path_ + "-" + std::to_string(::getpid());
      harness_.config().seal_window_us = 100;
      const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_, true);
      spdlog::set_default_logger(std::make_shared<spdlog::logger>("victim", sink));
      spdlog::set_level(spdlog::level::warn);
    }
    ~Victim() {
      harness_.Close();
      std::filesystem::remove_all(harness_.config().path);
      spdlog::set_default_logger(std::make_shared<spdlog::logger>("none"));
    }

    Verdict Judge() {
      Files files = test_.files_;
      damage_.Apply(&files);
      WriteFiles(files, harness_.config().path);
      const bool called_sound = Verify();
      Verdict verdict = Use(files);
      if (called_sound && verdict.outcome != Outcome::kWhole &&
          verdict.outcome != Outcome::kWrong) {
        return {Outcome::kWrong, "verify calls it sound, and: " + verdict.detail};
      }
      return verdict;
    }

   private:
    bool Verify() {
      VerifyOptions options;
      options.storage = harness_.config();
      options.threads = 1;
      options.take_lock = false;
      const Result<VerifyReport> report = VerifyStore(options);
      log_.str("");
      return report && report->sound();
    }

    Verdict Use(const Files& files) {
      const Status opened = harness_.TryOpen();
      if (!opened) return JudgeRefusal(opened.error(), files);
      const Status adopted = harness_.Adopt(SchemaOf());
      if (!adopted) return JudgeRefusal(adopted.error(), files);
      Verdict verdict = JudgeReads("opened");
      if (verdict.outcome == Outcome::kWrong) return verdict;
      const Status settled = harness_.store().Settle();
      if (!settled && !Names(settled.error().message())) {
        return {Outcome::kWrong, "settling fails: " + settled.error().message()};
      }
      const Verdict later = JudgeReads("settled");
      if (later.outcome == Outcome::kWrong) return later;
      if (verdict.outcome == Outcome::kNamed || later.outcome == Outcome::kNamed) {
        if (!StillThere(files)) return {Outcome::kWrong, "the damaged file is gone"};
        return {Outcome::kNamed, verdict.detail};
      }
      return verdict;
    }

    // A message that names the file that is damaged, or says that it is not there.
    bool Names(const std::string& message) const {
      return message.find(*damage_.file) != std::string::npos;
    }

    Verdict JudgeRefusal(const Error& error, const Files& files) {
      harness_.Close();
      if (!Names(error.message())) {
        return {Outcome::kWrong, "refused without naming the file: " + error.message()};
      }
      if (!StillThere(files)) return {Outcome::kWrong, "refused, and the damaged file is gone"};
      // With the file as it was, all is as it was.
      const std::string path = harness_.config().path + "/" + *damage_.file;
      std::ofstream(path, std::ios::binary) << test_.files_.at(*damage_.file);
      const Status opened = harness_.TryOpen();
      if (!opened || !harness_.Adopt(SchemaOf())) {
        return {Outcome::kWrong, "refused, and mending the file does not help: " +
                                     (opened ? std::string("adopt") : opened.error().message())};
      }
      const Verdict mended = JudgeReads("mended");
      if (mended.outcome != Outcome::kWhole) {
        return {Outcome::kWrong, "refused, then mended: " + mended.detail};
      }
      return {Outcome::kRefused, error.message()};
    }

    // Also if it was moved aside.
    bool StillThere(const Files& files) {
      const auto damaged = files.find(*damage_.file);
      if (damaged == files.end()) return true;
      const Files now = FilesBelow(harness_.config().path);
      return std::any_of(now.begin(), now.end(),
                         [&](const auto& file) { return file.second == damaged->second; });
    }

    Verdict JudgeReads(const std::string& when) {
      Outcome outcome = Outcome::kWhole;
      for (const auto& [table, expected] :
           {std::pair("H", &test_.history), std::pair("L", &test_.latest)}) {
        const Result<Rows> rows = harness_.TryRead(table);
        if (!rows && !Names(rows.error().message())) {
          return {Outcome::kWrong, when + ": reading fails: " + rows.error().message()};
        }
        if (rows && *rows == *expected) continue;
        outcome = Outcome::kNamed;
        if (!rows) continue;
        if (!OnlyHasWhatWasWritten(*rows)) {
          return {Outcome::kWrong, when + ": a wrong value in " + table};
        }
        if (!ToldOfTail()) {
          return {Outcome::kWrong,
                  when + ": rows of " + table + " are missing, log: " + log_.str()};
        }
      }
      return {outcome, when};
    }

    // Of latest rows, too: each comes from an event.
    bool OnlyHasWhatWasWritten(const Rows& rows) const {
      return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
        return std::all_of(row.second.begin(), row.second.end(), [&](const auto& cell) {
          const auto written = test_.cells_.find(row.first + " " + cell.first);
          return written != test_.cells_.end() && written->second == cell.second;
        });
      });
    }

    // An end that was cut off may take with it what was committed last, where log, status and a
    // metric tell the file and how much of it.
    bool ToldOfTail() {
      if (!Names(log_.str())) return false;
      for (const auto& [file, bytes] : harness_.CutTails()) {
        if (Names(file) && HasGauge(file, bytes)) return true;
      }
      return false;
    }
    bool HasGauge(const std::string& file, uint64_t bytes) {
      const std::vector<StoreGauge> gauges = harness_.store().State().gauges;
      return std::any_of(gauges.begin(), gauges.end(), [&](const StoreGauge& gauge) {
        return gauge.name == "tallyd_store_cut_tail_bytes" && gauge.labels.size() == 1 &&
               gauge.labels[0].second == file && gauge.value == static_cast<double>(bytes);
      });
    }

    const TortureTest& test_;
    const Damage& damage_;
    std::ostringstream log_;
    StoreHarness harness_;
  };

  // Judges some cases in a process, and says of each what became of it.
  void Child(std::span<const Damage> cases, int out) {
    for (const Damage& damage : cases) {
      const Verdict verdict = Victim(*this, damage).Judge();
      std::string line = std::to_string(static_cast<int>(verdict.outcome)) + verdict.detail;
      std::replace(line.begin(), line.end(), '\n', ' ');
      line += '\n';
      if (::write(out, line.data(), line.size()) < 0) return;
    }
  }

  void RunChunk(std::span<const Damage> cases) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      Child(cases, pipe[1]);
      ::_exit(0);
    }
    ::close(pipe[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
      said.append(buffer, static_cast<size_t>(got));
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::istringstream lines(said);
    size_t judged = 0;
    for (std::string line; std::getline(lines, line); ++judged) {
      const auto outcome = static_cast<Outcome>(line[0] - '0');
      ++counts_[outcome];
      ++counts_of_[*cases[judged].file][outcome];
      if (outcome == Outcome::kWrong && counts_of_[*cases[judged].file][outcome] <= kToldOfFile) {
        ADD_FAILURE() << cases[judged].Describe() << ": " << line.substr(1);
      }
    }
    if (judged < cases.size()) {
      ADD_FAILURE() << "a crash, status " << status << ": " << cases[judged].Describe();
    }
  }

  std::string config_path_;
  Files files_;
  std::map<std::string, std::string> cells_;  // Every one that was written: "row column@time".
  std::map<Outcome, size_t> counts_;
  std::map<std::string, std::map<Outcome, size_t>> counts_of_;
};

TEST_F(TortureTest, NoDamageToOneFileIsSilent) {
  Make();
  config_path_ = config().path;
  files_ = FilesBelow(config_path_);
  for (const auto& [row, cells] : history) {
    for (const auto& [cell, text] : cells) cells_[row + " " + cell] = text;
  }
  const std::vector<Damage> cases = ChosenDamage(files_);
  for (size_t first = 0; first < cases.size(); first += kChunk) {
    RunChunk(std::span(cases).subspan(first, std::min(kChunk, cases.size() - first)));
  }
  std::printf("%zu cases: %zu refused, %zu whole, %zu named, %zu wrong\n", cases.size(),
              counts_[Outcome::kRefused], counts_[Outcome::kWhole], counts_[Outcome::kNamed],
              counts_[Outcome::kWrong]);
  for (auto& [name, counts] : counts_of_) {
    std::printf("  %-40s %6zu refused %6zu whole %6zu named %6zu wrong\n", name.c_str(),
                counts[Outcome::kRefused], counts[Outcome::kWhole], counts[Outcome::kNamed],
                counts[Outcome::kWrong]);
  }
}

}  // namespace
}  // namespace tallyd
