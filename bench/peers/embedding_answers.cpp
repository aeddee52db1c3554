/// embedding_backward: the row of an id must not depend on tokens behind that have other ids.
#include <algorithm>
#include <set>

#include "bench/peers/answers.h"
#include "bench/peers/device_helpers.h"
#include "kernels/common/random.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::peers {
namespace {

namespace eb = strictbench::embedding_backward;

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

/// As the benchmark draws them for the case of this name.
std::vector<std::int64_t> ids_of(const CaseName& name, std::int64_t tokens, std::int64_t vocab) {
  const std::uint64_t seed = random_key(name.text + "/ids");
  const std::string& kind = name.word("ids");
  if (kind == "uniform") return random_distinct(seed, tokens, vocab);
  if (kind == "zipf") return random_zipf(seed, tokens, vocab);
  if (kind != "equal")
    throw std::invalid_argument("case '" + name.text + "': ids are uniform, zipf or equal");
  const auto id = static_cast<std::int64_t>(random_below(seed, 0, static_cast<std::uint64_t>(vocab)));
  return std::vector<std::int64_t>(static_cast<std::size_t>(tokens), id);
}

/// The ids, and behind them as many others: the smallest that do not occur, once each.
std::vector<std::int64_t> with_others(const std::vector<std::int64_t>& ids, std::int64_t vocab) {
  const std::set<std::int64_t> present(ids.begin(), ids.end());
  std::vector<std::int64_t> all = ids;
  for (std::int64_t id = 0; id < vocab && all.size() < 2 * ids.size(); ++id)
    if (!present.contains(id)) all.push_back(id);
  return all;
}

/// The tokens of a case with the others behind. Their gradients are +0, so the whole table keeps its bits.
class Tokens {
 public:
  Tokens(Backend& backend, const CaseName& name)
      : shape_{name.number("tokens"), name.number("vocab"), name.number("hidden")},
        host_ids_(with_others(ids_of(name, shape_.tokens, shape_.vocab), shape_.vocab)),
        count_(static_cast<std::int64_t>(host_ids_.size())),
        ids_(backend, bytes()),
        sorted_ids_(backend, bytes()),
        positions_(backend, bytes()),
        workspace_bytes_(eb::sort_workspace_bytes(count_)),
        workspace_(backend, workspace_bytes_),
        grad_(backend, Dtype::bf16, size(count_, shape_.hidden)) {
    backend.upload(ids_.as(), host_ids_.data(), bytes());
    grad_.zero();
    fill_wide(grad_.as(), Dtype::bf16, size(shape_.tokens, shape_.hidden), random_key(name.text + "/bits"),
              backend.stream());
  }

  std::size_t table() const { return size(shape_.vocab, shape_.hidden); }

  /// Of the case's tokens, or of all.
  eb::Args args(const Tensor& out, bool all) const {
    const std::int64_t tokens = all ? count_ : shape_.tokens;
    return {.shape = {tokens, shape_.vocab, shape_.hidden},
            .ids = ids_.as<std::int64_t>(),
            .grad = {grad_.as(), Dtype::bf16},
            .grad_stride = shape_.hidden,
            .dweight = {out.as(), Dtype::bf16},
            .sorted = {.ids = sorted_ids_.as<std::int64_t>(),
                       .positions = positions_.as<std::int64_t>(),
                       .workspace = workspace_.as(),
                       .workspace_bytes = workspace_bytes_}};
  }

 private:
  std::size_t bytes() const { return size(count_, sizeof(std::int64_t)); }

  eb::Shape shape_;
  std::vector<std::int64_t> host_ids_;
  std::int64_t count_;
  Memory ids_;
  Memory sorted_ids_;
  Memory positions_;
  std::size_t workspace_bytes_;
  Memory workspace_;
  Tensor grad_;
};

}  // namespace

void ask_embedding_backward(Backend& backend, const CaseName& name, std::vector<Answer>& answers) {
  if (name.word("dtype") != "bf16" || name.word("part") != "whole")
    throw std::invalid_argument("case '" + name.text + "': asked of bf16 and part:whole alone");
  const Tokens tokens(backend, name);
  Tensor out(backend, Dtype::bf16, tokens.table());
  Tensor more(backend, Dtype::bf16, tokens.table());
  for (const auto& variant : eb::whole_variants) {
    if (variant.device != Device::cuda || variant.name == "legacy") continue;
    const auto call = [&](const Tensor& to, bool all) -> Call {
      return [&, args = tokens.args(to, all)](Stream s) { variant.launch(args, s); };
    };
    answers.push_back(ask(backend, name, variant.name, [&](Answer& answer) {
      answer.repeatable = repeats(backend, out, call(out, false));
      run_once(backend, more, call(more, true));
      answer.batch_invariant = more.compare(out).count == 0;
    }));
  }
}

}  // namespace strictbench::peers
