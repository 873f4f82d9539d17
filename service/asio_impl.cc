// The one translation unit that compiles Asio, of which this folder uses threads alone: everywhere
// else it is declarations only (BOOST_ASIO_SEPARATE_COMPILATION), which halves a full build.
#include <boost/asio/impl/src.hpp>
