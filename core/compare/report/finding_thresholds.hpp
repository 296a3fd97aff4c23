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
// A setting explains the changes that it caused, so it precedes other findings on the group.
inline constexpr double kWeightOfSetting = 1.1;

}  // namespace ctprof::finding_thresholds
