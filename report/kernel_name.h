/// Names of kernels as a table shows them.
#pragma once
#include <string>
#include <string_view>

namespace strictbench {

/// The name of a function without its return type, namespaces, template arguments and parameters; a name that
/// is no C++ function stays as it is.
std::string short_kernel_name(std::string_view demangled);

}  // namespace strictbench
