#include "bench/strictbench/calibration_cases.h"

#include <string_view>

namespace strictbench::calibration {
namespace {

struct Entry {
  std::string_view row;  // without its timer
  bool every_timer;      // else the gating one alone
};

// Times on an H200 by graph. Kernels of one block, kernels that fill the chip, and what lies between.
constexpr Entry on_gpu[] = {
    {"embedding_backward/new/tokens:8/vocab:32000/hidden:1024/ids:uniform/dtype:bf16/part:kernel",
     true},  // 2 us
    {"embedding_backward/new/tokens:32/vocab:32000/hidden:4096/ids:uniform/dtype:bf16/part:kernel",
     false},  // 2 us
    {"embedding_backward/new/tokens:512/vocab:151936/hidden:4096/ids:uniform/dtype:bf16/part:kernel",
     false},                                                          // 4 us
    {"row_fold/new/rows:1/cols:128/dtype:fp32", false},               // 2 us
    {"row_fold/new/rows:64/cols:128/dtype:fp32", true},               // 11 us
    {"row_fold/new/rows:512/cols:4096/dtype:fp32", true},             // 83 us
    {"dw_gemm/new/tokens:1/in:4096/out:12288/dtype:bf16", false},     // 110 us
    {"row_fold/new/rows:1024/cols:8192/dtype:fp32", false},           // 170 us
    {"dw_gemm/new/tokens:8/in:4096/out:12288/dtype:bf16", true},      // 195 us
    {"dw_gemm/legacy/tokens:8/in:4096/out:12288/dtype:bf16", false},  // 910 us
    {"row_fold/new/rows:4096/cols:4096/dtype:fp32", true},            // 1.5 ms
    {"row_fold/new/rows:16384/cols:128/dtype:fp32", true},            // 2.6 ms
};

constexpr std::string_view on_cpu[] = {
    "embedding_backward/new/tokens:128/vocab:1000/hidden:64/ids:uniform/dtype:bf16/part:kernel",
    "row_fold/new/rows:1024/cols:128/dtype:fp32",
    "row_fold/legacy/rows:1024/cols:128/dtype:fp32",
    "row_fold/new/rows:64/cols:4096/dtype:fp32",
    "dw_gemm/new/tokens:1/in:256/out:768/dtype:bf16",
    "row_fold/new/rows:16384/cols:128/dtype:fp32",
    "dw_gemm/new/tokens:8/in:256/out:768/dtype:bf16",
    "dw_gemm/legacy/tokens:1/in:256/out:768/dtype:bf16",
    "row_fold/legacy/rows:1024/cols:4096/dtype:fp32",
    "dw_gemm/new/tokens:31/in:256/out:768/dtype:bf16",
    "embedding_backward/legacy/tokens:8/vocab:1000/hidden:64/ids:uniform/dtype:bf16/part:kernel",
    "dw_gemm/legacy/tokens:8/in:256/out:768/dtype:bf16",
};

}  // namespace

std::vector<std::string> default_cases(bool gpu) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view row, const char* timer) {
    names.push_back(std::string(row) + "/timer:" + timer);
  };
  if (!gpu) {
    for (const std::string_view row : on_cpu) add(row, "cpu");
    return names;
  }
  for (const Entry& entry : on_gpu) {
    add(entry.row, "graph");
    if (!entry.every_timer) continue;
    add(entry.row, "cold");
    add(entry.row, "wall");
  }
  return names;
}

std::string filter_of(const std::vector<std::string>& names) {
  std::string filter = "^(";
  for (const std::string& name : names) {
    if (filter.back() != '(') filter += '|';
    for (const char c : name) {
      if (std::string_view(R"(.[{}()\*+?|^$)").find(c) != std::string_view::npos) filter += '\\';
      filter += c;
    }
  }
  return filter + ")$";
}

}  // namespace strictbench::calibration
