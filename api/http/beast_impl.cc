// The one translation unit that compiles Beast: everywhere else it is declarations only
// (BOOST_BEAST_SEPARATE_COMPILATION), which halves a full build. Asio is service/asio_impl.cc.
#include <boost/beast/src.hpp>
