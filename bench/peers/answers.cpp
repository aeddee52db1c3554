#include "bench/peers/answers.h"

#include <cuda_runtime_api.h>

#include <charconv>
#include <sstream>
#include <stdexcept>

#include "kernels/common/cuda_error.h"

namespace strictbench::peers {

CaseName parse_case(const std::string& text) {
  CaseName name{.text = text, .op = {}, .keys = {}};
  std::istringstream parts(text);
  std::getline(parts, name.op, '/');
  for (std::string part; std::getline(parts, part, '/');) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos)
      throw std::invalid_argument("case '" + text + "': '" + part + "' is not <key>:<value>");
    name.keys[part.substr(0, colon)] = part.substr(colon + 1);
  }
  if (name.keys.empty())
    throw std::invalid_argument("case '" + text +
                                "' names no shape, as row_fold/rows:64/cols:128/dtype:fp32 does");
  return name;
}

const std::string& CaseName::word(const std::string& key) const {
  const auto found = keys.find(key);
  if (found == keys.end()) throw std::invalid_argument("case '" + text + "' has no key " + key);
  return found->second;
}

std::int64_t CaseName::number(const std::string& key) const {
  const std::string& digits = word(key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  constexpr std::int64_t most = std::int64_t{1}
                                << 31;  // products of three such stay in 64 bits where it matters
  if (error != std::errc() || end != digits.data() + digits.size() || value <= 0 || value > most)
    throw std::invalid_argument("case '" + text + "': " + key + " must be a number of 1 to 2^31");
  return value;
}

void run_once(Backend& backend, Tensor& out, const Call& call) {
  out.poison();
  call(backend.stream());
  backend.synchronize();
}

bool repeats(Backend& backend, Tensor& out, const Call& call) {
  run_once(backend, out, call);
  Tensor first(backend, out.dtype(), out.count());
  first.copy_from(out);
  for (int run = 1; run < runs; ++run) {
    run_once(backend, out, call);
    if (out.compare(first).count != 0) return false;
  }
  return true;
}

std::vector<double> time_by_graph(Backend& backend, const Call& call) {
  call(backend.stream());  // what loads on first use is loaded
  backend.synchronize();
  const double one = backend.make_sampler(Timer::graph, call, 1)->sample();
  const auto sampler = backend.make_sampler(Timer::graph, call, calls_per_sample(Timer::graph, one));
  for (int i = 0; i < warm_up_samples(Timer::graph); ++i) sampler->sample();
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) {
    sampler->refresh();
    samples.push_back(sampler->sample() * 1e6);
  }
  return samples;
}

Answer ask(Backend& backend, const CaseName& name, std::string_view who,
           const std::function<void(Answer&)>& questions) {
  Answer answer{.case_name = name.text, .who = std::string(who)};
  try {
    questions(answer);
  } catch (const std::exception& error) {
    if (backend.lost()) throw DeviceLost(error.what());
    answer.error = error.what();
  }
  return answer;
}

void copy_columns(Backend& backend, Tensor& to, const Tensor& from, std::int64_t rows, std::int64_t cols,
                  std::int64_t width) {
  const std::size_t element = size_of(from.dtype());
  cuda_check(cudaMemcpy2DAsync(to.as(), static_cast<std::size_t>(width) * element, from.as(),
                               static_cast<std::size_t>(cols) * element,
                               static_cast<std::size_t>(width) * element, static_cast<std::size_t>(rows),
                               cudaMemcpyDeviceToDevice, backend.stream()));
  backend.synchronize();
}

}  // namespace strictbench::peers
