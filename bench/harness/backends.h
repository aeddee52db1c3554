/// The backends that exist; make_backend() chooses among them.
#pragma once
#include <memory>
#include <string>

#include "bench/harness/backend.h"

namespace strictbench {

std::unique_ptr<Backend> make_cpu_backend();

/// 0 in a build without CUDA and on a machine without a driver or GPU; why_no_cuda() says which.
int cuda_device_count();
std::string why_no_cuda();
std::unique_ptr<Backend> make_cuda_backend(int index, bool blocking);

/// Backend::probe() of each.
ProbeCalls cpu_probe(Probe probe, void* memory, double amount);
ProbeCalls cuda_probe(Probe probe, void* memory, double amount, int sms);

/// "--device takes cpu, cuda, 0 here".
std::string existing_devices();

}  // namespace strictbench
