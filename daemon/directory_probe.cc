#include "daemon/directory_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <thread>

namespace tallyd {
namespace {

// What goes wrong is an answer, too.
void AskDisk(const std::string& directory) {
  constexpr std::array<char, 512> kBytes{};
  int file = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } else if (::write(file, kBytes.data(), kBytes.size()) < 0) {
    ::close(file);
    return;
  }
  if (file < 0) return;
  static_cast<void>(::fsync(file));
  ::close(file);
}

}  // namespace

void DirectoryProbe::Begin() {
  *is_running_ = true;
  try {
    // It cannot be joined while the disk hangs, and so is nobody's to wait for.
    std::thread([directory = directory_, is_running = is_running_] {
      AskDisk(directory);
      *is_running = false;
    }).detach();
  } catch (const std::system_error&) {
    // Without a thread nobody knows of the disk. It counts as one that hangs from then on: who can
    // make no thread has another trouble than the store.
  }
}

}  // namespace tallyd
