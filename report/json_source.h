/// Reads a JSON file in pieces and mends what Google Benchmark writes that is not JSON.
#pragma once
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "report/input_file.h"

namespace strictbench {

/// A file as a sequence of characters for a JSON parser, held in memory a piece at a time.
///
/// Google Benchmark writes NaN and infinity as bare words, and a number may be too large for a double; either
/// would make a parser refuse the whole file for the sake of one row. Such a word outside a string is
/// replaced by an empty string and blanks of the same length: a value that is no number, at unchanged
/// offsets.
class JsonSource {
 public:
  /// Opens `path` as open_input() does. Throws UsageError when it cannot be read.
  explicit JsonSource(const std::string& path);

  /// Single-pass iterator over the mended characters; all copies share the position of the source.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    reference operator*() const { return *source_->position_; }
    Iterator& operator++() {
      if (++source_->position_ == source_->limit_) source_->refill();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_end() == other.at_end(); }
    bool operator!=(const Iterator& other) const { return at_end() != other.at_end(); }

   private:
    friend class JsonSource;
    explicit Iterator(JsonSource* source) : source_(source) {}
    bool at_end() const { return source_ == nullptr || source_->position_ == nullptr; }
    JsonSource* source_;
  };

  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(nullptr); }

  /// A number that the bytes read so far have: of the same bytes the same, of others another.
  std::size_t digest() const { return digest_; }

  /// Bytes handed out so far.
  std::size_t offset() const {
    return position_ == nullptr ? passed_ : passed_ + static_cast<std::size_t>(position_ - buffer_.data());
  }

 private:
  void refill();

  std::string path_;
  InputFile file_;
  std::vector<char> buffer_;
  std::size_t passed_ = 0;          // bytes of the file before buffer_
  std::size_t digest_ = 0;          // of the file up to the end of buffer_
  std::size_t filled_ = 0;          // bytes in buffer_
  std::size_t mended_ = 0;          // bytes of buffer_ that are ready to hand out
  bool in_string_ = false;          // whether the byte at mended_ stands inside a string
  bool after_backslash_ = false;    // whether it is escaped there
  const char* position_ = nullptr;  // next character; nullptr at the end
  const char* limit_ = nullptr;
};

/// Replaces bare NaN and infinity words and numbers beyond a double in `text`, a complete JSON text, in
/// place.
void mend_json(std::string& text);

/// Throws UsageError where lists and objects of a JSON text stand in each other more than 200 deep. A reader
/// that keeps such a document whole would copy and write it by recursion, and end without a word.
void require_shallow(std::string_view text);

}  // namespace strictbench
