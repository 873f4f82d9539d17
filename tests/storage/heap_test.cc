#include "storage/heap.h"

#include <gtest/gtest.h>
#include <mimalloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tallyd {
namespace {

// The sanitizers have heaps of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr size_t kBlockBytes = 1000;
constexpr size_t kBlocks = 64'000;
// Blocks that lie beside each other.
constexpr size_t kGroup = 1000;
constexpr std::chrono::milliseconds kLongerThanSoon{20};

using Blocks = std::vector<std::unique_ptr<char[]>>;

Blocks MakeBlocks() {
  Blocks blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlockBytes));
    blocks.back()[0] = 'x';
  }
  return blocks;
}

uint64_t ResidentBytes() {
  uint64_t pages = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The flags of the mapping that has the address, as the kernel tells them.
std::string FlagsOf(const void* address) {
  const auto sought = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool is_in_it = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
      is_in_it = begin <= sought && sought < end;
    } else if (is_in_it && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return {};
}

TEST(HeapTest, TakesThePlaceOfMalloc) {
  const auto block = std::make_unique<char[]>(kBlockBytes);
  EXPECT_TRUE(mi_is_in_heap_region(block.get()));
}

TEST(HeapTest, AsksForHugePagesOnceItIsPrepared) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "this kernel has none";
  }
  PrepareHeap();
  std::string flags;
  std::thread([&] { flags = FlagsOf(MakeBlocks().back().get()); }).join();
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
}

TEST(HeapTest, WhatIsFreedGoesBackSoonWhenToldSo) {
  PrepareHeap();
  ReleaseSoon(true);
  Blocks blocks = MakeBlocks();
  const uint64_t before = ResidentBytes();
  // Most of them, everywhere; the others beside them later, however fast the machine is.
  for (size_t i = 0; i < kBlocks; ++i) {
    if (i / kGroup % 8 != 0) blocks[i].reset();
  }
  std::this_thread::sleep_for(kLongerThanSoon);
  blocks.clear();
  GiveBackHeap();
  ReleaseSoon(false);
  EXPECT_LT(ResidentBytes() + kBlocks * kBlockBytes / 2, before);
}

#endif

}  // namespace
}  // namespace tallyd
