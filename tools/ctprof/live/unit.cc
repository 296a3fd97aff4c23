// All sources of tools/ctprof/live, which are compiled as one.

#include "tools/ctprof/live/copy.cc"
#include "tools/ctprof/live/heading.cc"
#include "tools/ctprof/live/history.cc"
#include "tools/ctprof/live/keys.cc"
#include "tools/ctprof/live/pages.cc"
#include "tools/ctprof/live/picture_text.cc"
#include "tools/ctprof/live/pictures.cc"
#include "tools/ctprof/live/rows.cc"
#include "tools/ctprof/live/sampler.cc"
#include "tools/ctprof/live/thread_page.cc"
#include "tools/ctprof/live/told.cc"
#include "tools/ctprof/live/view.cc"
