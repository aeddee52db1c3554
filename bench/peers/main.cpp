/// peers_cuda CASE...: what scripts/peers.py asks of the kernels and of CUB on a GPU, as JSON on standard
/// output. Exit codes: 0; 1 the GPU failed; 2 unusable arguments; 3 no GPU.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/harness/backend.h"
#include "bench/harness/backends.h"
#include "bench/peers/answers.h"

namespace {

using namespace strictbench;
using namespace strictbench::peers;

nlohmann::ordered_json json_of(const Answer& answer) {
  nlohmann::ordered_json json{{"case", answer.case_name}, {"who", answer.who}};
  if (!answer.error.empty()) json["error"] = answer.error;
  if (!answer.samples_us.empty()) {
    json["timer"] = "graph";
    json["samples_us"] = answer.samples_us;
  }
  if (answer.repeatable) json["repeatable"] = *answer.repeatable;
  if (answer.batch_invariant) json["batch_invariant"] = *answer.batch_invariant;
  return json;
}

void ask_all(Backend& backend, const CaseName& name, std::vector<Answer>& answers) {
  if (name.op == "row_fold") return ask_row_fold(backend, name, answers);
  if (name.op == "embedding_backward") return ask_embedding_backward(backend, name, answers);
  if (name.op == "dw_gemm") return ask_dw_gemm(backend, name, answers);
  throw std::invalid_argument("case '" + name.text +
                              "': row_fold, embedding_backward and dw_gemm have peers");
}

int run(const std::vector<std::string>& arguments) {
  std::vector<CaseName> cases;
  for (const std::string& argument : arguments) cases.push_back(parse_case(argument));
  if (cases.empty()) throw std::invalid_argument("usage: peers_cuda CASE..., as scripts/peers.py calls it");
  if (cuda_device_count() == 0) {
    std::fprintf(stderr, "peers_cuda: %s\n", why_no_cuda().c_str());
    return 3;
  }
  const auto backend = make_backend("cuda");
  nlohmann::ordered_json all{{"runs", runs}};
  for (const auto& [key, value] : backend->context())
    if (key == "gpu_name" || key == "gpu_uuid") all[key] = value;
  all["answers"] = nlohmann::ordered_json::array();
  for (const CaseName& name : cases) {
    std::vector<Answer> answers;
    ask_all(*backend, name, answers);
    for (const Answer& answer : answers) all["answers"].push_back(json_of(answer));
  }
  std::printf("%s\n", all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/1);  // see bench/harness/main.cpp
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "peers_cuda: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peers_cuda: %s\n", error.what());
    return 1;
  }
}
