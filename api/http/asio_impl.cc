// The one translation unit that compiles Asio and Beast: everywhere else they are declarations only
// (BOOST_ASIO_SEPARATE_COMPILATION, BOOST_BEAST_SEPARATE_COMPILATION), which halves a full build.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
