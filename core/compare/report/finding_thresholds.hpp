// The thresholds of findings; finding_rules.cc contains them as text. Percentages are of one CPU.

#pragma once

namespace ctprof::finding_thresholds {

inline constexpr double kMinWait = 20, kMinWaitShare = 0.25;
inline constexpr double kMinBlocked = 5;
inline constexpr double kMinIo = 0.1;
inline constexpr double kMinGrowth = 64 << 20, kMinGrowthShare = 0.005;
inline constexpr double kMinThreadGrowthShare = 0.5, kMaxExitedShare = 0.5;
inline constexpr double kMinStarts = 20, kMinStartsCpu = 5;
inline constexpr double kMinCpuChange = 20;
inline constexpr double kMinThrottled = 0.05;
inline constexpr double kMinPressure = 0.1;
inline constexpr double kMinEffect = 0.02;
inline constexpr double kMinYields = 10'000, kMinMinorFaults = 100'000, kMinMajorFaults = 100;
inline constexpr double kMaxIdleShare = 0.05;
// If the waits of threads for a CPU are shorter than this on average, the threads wait for each
// other: behind a thread that uses the CPU, a wait lasts a time slice, some milliseconds.
inline constexpr double kMaxShortWaitForCpuNs = 500e3;
// A finding that explains figures of its group precedes the findings on these figures.
inline constexpr double kWeightOfCause = 1.1;
// Findings without a share of the machine get a small weight, so that they follow larger ones.
inline constexpr double kWeightOfCountFindings = 0.02;
// A group that runs less is more often slowed down by another one than the cause.
inline constexpr double kWeightOfIdle = 0.5;

}  // namespace ctprof::finding_thresholds
