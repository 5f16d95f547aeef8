// Whole-file input and output. Writing never leaves a partial file under the final name.
#pragma once
#include "fa/Support/Expected.h"
#include <initializer_list>
#include <string>
#include <string_view>

namespace fa {

/// The whole contents; errors name the file and the system's reason.
Expected<std::string> readFile(const std::string &path);

/// Writes the pieces one after another to a private temporary file beside `path`, then renames it. On failure the
/// temporary is removed and whatever stood under `path` is untouched.
Status writeFileAtomically(const std::string &path, std::initializer_list<std::string_view> pieces);

} // namespace fa
