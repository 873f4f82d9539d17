// Files that are read by pread, never mmap: a failing disk is an error, not a SIGBUS. Of LevelDB's
// tables (`.ldb`) a block that is not what was written is an error that names the file, which
// LevelDB's own does not.
//
//   leveldb::RandomAccessFile* file = nullptr;
//   leveldb::Status opened = OpenPreadFile(name, &file);   // The caller's to delete.
//
// What is opened is thread-safe, but for what is read from its beginning on (OpenSequentialFile).
// Both give less than was asked for at the end only: a file system may do so anywhere, and LevelDB
// takes that for the end of a log.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_PREAD_FILE_H_
#define TALLYD_STORAGE_LEVELDB_ENV_PREAD_FILE_H_

#include <leveldb/env.h>

#include <string>

namespace tallyd {

// Null where it fails.
leveldb::Status OpenPreadFile(const std::string& name, leveldb::RandomAccessFile** file);
leveldb::Status OpenSequentialFile(const std::string& name, leveldb::SequentialFile** file);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_PREAD_FILE_H_
