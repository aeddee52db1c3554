/// The gathering kernel and its launch. Included by *.cu only.
///
/// A thread moves up to `pieces_per_thread` pieces that make 16 bytes of output each, all loads before the
/// first store; a block of 128 threads takes that many pieces of one row, or several rows where they are
/// shorter. Where hidden or an address is no multiple of a piece, pieces are single elements.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

/// Through all caches, as a plain load and store go.
struct Cached {
  template <class Piece>
  __device__ static Piece load(const Piece* from) {
    return *from;
  }
  template <class Piece>
  __device__ static void store(Piece* to, Piece piece) {
    *to = piece;
  }
};

inline constexpr int gather_threads = 128;

/// Bits as they are: no number is made of them, so that no NaN loses its payload.
struct Keep {
  template <class Piece>
  __device__ static Piece convert(Piece piece) {
    return piece;
  }
};

template <class T>
struct Widen {
  __device__ static float convert(std::uint16_t bits) { return to_float(T{bits}); }
  __device__ static float4 convert(uint2 piece) {
    return {low(piece.x), high(piece.x), low(piece.y), high(piece.y)};
  }

 private:
  __device__ static float low(std::uint32_t pair) { return convert(static_cast<std::uint16_t>(pair)); }
  __device__ static float high(std::uint32_t pair) { return convert(static_cast<std::uint16_t>(pair >> 16)); }
};

/// Blocks of (lanes, rows) gather_threads; blockIdx.x counts groups of rows, blockIdx.y stretches of a row.
template <int pieces_per_thread, class Access, class Conversion, class Id, class From, class To>
__global__ void __launch_bounds__(gather_threads)
    gather(std::int64_t tokens, std::int64_t vocab, std::int64_t pieces, const Id* __restrict__ ids,
           const From* __restrict__ weight, To* __restrict__ out, To missing_piece) {
  const std::int64_t token = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (token >= tokens) return;
  const int lanes = static_cast<int>(blockDim.x);
  const std::int64_t first = std::int64_t{blockIdx.y} * (lanes * pieces_per_thread) + threadIdx.x;
  const std::int64_t id = ids[token];
  To* const to = out + token * pieces + first;
  const std::int64_t left = pieces - first;  // pieces from this thread's first to the end of the row
  if (id < 0 || id >= vocab) {
    for (int k = 0; k < pieces_per_thread; ++k)
      if (k * lanes < left) to[k * lanes] = missing_piece;
    return;
  }
  const From* const from = weight + id * pieces + first;
  From held[pieces_per_thread] = {};
#pragma unroll
  for (int k = 0; k < pieces_per_thread; ++k)
    if (k * lanes < left) held[k] = Access::load(from + k * lanes);
#pragma unroll
  for (int k = 0; k < pieces_per_thread; ++k)
    if (k * lanes < left) Access::store(to + k * lanes, Conversion::convert(held[k]));
}

/// A piece of out, all of whose elements are missing.
template <class To>
To missing_piece(Dtype weight, Dtype out) {
  const auto pattern = with_type(weight, [&]<class T>() {
    if constexpr (sizeof(T) == sizeof(std::uint16_t))
      if (out != Dtype::fp32) return missing<T>().bits * 0x10001u;  // two elements
    return std::bit_cast<std::uint32_t>(to_float(missing<T>()));
  });
  To piece;
  constexpr std::size_t unit = std::min(sizeof piece, sizeof pattern);
  for (std::size_t b = 0; b < sizeof piece; b += unit)
    std::memcpy(reinterpret_cast<char*>(&piece) + b, &pattern, unit);
  return piece;
}

template <int pieces_per_thread, class Access, class Conversion, class Id, class From, class To>
void launch_pieces(const Args& args, Stream stream) {
  const auto& [tokens, vocab, hidden] = args.shape;
  const auto elements = static_cast<std::int64_t>(sizeof(To) / size_of(args.out.dtype));
  const std::int64_t pieces = hidden / elements;
  int lanes = 1;
  while (lanes < gather_threads && lanes < pieces) lanes *= 2;
  const dim3 block(static_cast<unsigned>(lanes), static_cast<unsigned>(gather_threads / lanes));
  const dim3 grid(grid_blocks(tokens, block.y, grid_x, "embedding_forward: shape.tokens must fit a grid"),
                  grid_blocks(pieces, lanes * pieces_per_thread, grid_y,
                              "embedding_forward: shape.hidden must fit a grid"));
  gather<pieces_per_thread, Access, Conversion>
      <<<grid, block, 0, stream>>>(tokens, vocab, pieces, args.ids.as<Id>(), args.weight.as<From>(),
                                   args.out.as<To>(), missing_piece<To>(args.weight.dtype, args.out.dtype));
  check_launch();
}

/// Whether every row of both sides is cut evenly into pieces of From and To.
template <class From, class To>
bool cuts_evenly(const Args& args) {
  const auto elements = static_cast<std::int64_t>(sizeof(To) / size_of(args.out.dtype));
  return args.shape.hidden % elements == 0 &&
         reinterpret_cast<std::uintptr_t>(args.weight.data) % sizeof(From) == 0 &&
         reinterpret_cast<std::uintptr_t>(args.out.data) % sizeof(To) == 0;
}

/// Gathers by pieces as large as sizes and addresses allow.
template <int pieces_per_thread, class Access>
void launch_gather(const Args& args, Stream stream) {
  with_type(args.ids.type, [&]<class Id>() {
    const auto launch = [&]<class Conversion, class From, class To>() {
      launch_pieces<pieces_per_thread, Access, Conversion, Id, From, To>(args, stream);
    };
    if (args.out.dtype == args.weight.dtype) {
      if (cuts_evenly<uint4, uint4>(args)) return launch.template operator()<Keep, uint4, uint4>();
      if (args.out.dtype == Dtype::fp32)
        return launch.template operator()<Keep, std::uint32_t, std::uint32_t>();
      return launch.template operator()<Keep, std::uint16_t, std::uint16_t>();
    }
    const auto widen = [&]<class T>() {
      cuts_evenly<uint2, float4>(args) ? launch.template operator()<Widen<T>, uint2, float4>()
                                       : launch.template operator()<Widen<T>, std::uint16_t, float>();
    };
    args.weight.dtype == Dtype::bf16 ? widen.template operator()<Bf16>() : widen.template operator()<Fp16>();
  });
}

}  // namespace
}  // namespace strictbench::embedding_forward
