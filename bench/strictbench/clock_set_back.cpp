/// For a test, by LD_PRELOAD: each look at the wall clock is an hour before the last one; other clocks are
/// right.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

namespace {

time_t an_hour_less_each_time() {
  static time_t hours = 0;
  return 3600 * ++hours;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec -= an_hour_less_each_time();
  return result;
}

extern "C" time_t time(time_t* seconds) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

extern "C" int gettimeofday(timeval* time, void*) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
