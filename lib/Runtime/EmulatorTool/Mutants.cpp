// Finds synchronising statements line by line and rewrites one at a time.
#include "fa/Runtime/EmulatorTool/Mutants.h"
#include <functional>
#include <map>
#include <regex>

namespace fa::runtime::tool {
namespace {

struct Rule {
  const char *kind;
  const char *change;
  std::regex pattern;
  std::string replacement; ///< regex format; empty: the statement disappears
};

/// A dropped wait becomes a predicate that is true at once.
const std::vector<Rule> &rules() {
  auto make = [](const char *kind, const char *change, const char *pattern, const char *replacement = "") {
    return Rule{kind, change, std::regex(pattern), replacement};
  };
  static const std::vector<Rule> all = {
      make("bar.sync", "drop", R"((bar\.sync|barrier\.sync\S*)\s[^;]*;)"),
      make("bar.arrive", "drop", R"((bar\.arrive)\s[^;]*;)"),
      make("barrier.cluster.arrive", "drop", R"(barrier\.cluster\.arrive\S*;)"),
      make("barrier.cluster.arrive", "relaxed", R"(barrier\.cluster\.arrive\.aligned;)",
           "barrier.cluster.arrive.relaxed.aligned;"),
      make("barrier.cluster.wait", "drop", R"(barrier\.cluster\.wait\S*;)"),
      make("mbarrier.init", "drop", R"(mbarrier\.init\S*\s[^;]*;)"),
      make("mbarrier.expect_tx", "drop", R"(mbarrier\.arrive\.expect_tx\S*\s[^;]*;)"),
      make("mbarrier.expect_tx", "plain arrive", R"(mbarrier\.arrive\.expect_tx(\S*)\s+(\S+), (\[[^\]]*\]),[^;]*;)",
           "mbarrier.arrive$1 $2, $3;"),
      make("mbarrier.arrive", "drop", R"(mbarrier\.arrive\.(?!expect_tx)\S*\s[^;]*;)"),
      make("mbarrier.try_wait", "drop", R"(mbarrier\.try_wait\S*\s+([^,\s]+),[^;]*;)", "setp.eq.u32 $1, 0, 0;"),
      make("fence.mbarrier_init", "drop", R"(fence\.mbarrier_init\S*;)"),
      make("fence.proxy.async", "drop", R"(fence\.proxy\.async\S*;)"),
      make("wgmma.fence", "drop", R"(wgmma\.fence\S*;)"),
      make("wgmma.commit_group", "drop", R"(wgmma\.commit_group\S*;)"),
      make("wgmma.wait_group", "drop", R"(wgmma\.wait_group\S*\s+\d+;)"),
      make("wgmma.wait_group", "0 becomes 1", R"((wgmma\.wait_group\S*)\s+0;)", "$1 1;"),
      make("cp.async.bulk.commit_group", "drop", R"(cp\.async\.bulk\.commit_group;)"),
      make("cp.async.bulk.wait_group", "drop", R"(cp\.async\.bulk\.wait_group\S*\s+\d+;)"),
      make("cp.async.bulk.wait_group", "0 becomes 1", R"((cp\.async\.bulk\.wait_group\S*)\s+0;)", "$1 1;"),
      make("cp.async.bulk.wait_group", "read only", R"(cp\.async\.bulk\.wait_group\s+0;)",
           "cp.async.bulk.wait_group.read 0;"),
      make("cp.async.commit_group", "drop", R"(cp\.async\.commit_group;)"),
      make("cp.async.wait_group", "drop", R"(cp\.async\.wait_group\s+\d+;)"),
      make("cp.async.wait_group", "1 becomes 2", R"(cp\.async\.wait_group\s+1;)", "cp.async.wait_group 2;"),
  };
  return all;
}

} // namespace

std::vector<Mutant> makeMutants(const std::string &ptx) {
  std::vector<Mutant> mutants;
  std::map<std::pair<std::string, std::string>, int> occurrences;
  size_t begin = 0;
  for (int line = 1; begin < ptx.size(); ++line) {
    size_t end = ptx.find('\n', begin);
    end = end == std::string::npos ? ptx.size() : end;
    const std::string statement = ptx.substr(begin, end - begin);
    for (const Rule &rule : rules()) {
      std::smatch match;
      if (statement.find("//") == 0 || !std::regex_search(statement, match, rule.pattern))
        continue;
      const std::string changed =
          std::regex_replace(statement, rule.pattern, rule.replacement, std::regex_constants::format_first_only);
      const std::string trapping =
          std::regex_replace(statement, rule.pattern, "trap;", std::regex_constants::format_first_only);
      const std::string before = ptx.substr(0, begin), after = ptx.substr(end);
      mutants.push_back({rule.kind, rule.change, line, ++occurrences[{rule.kind, rule.change}], match.str(),
                         before + changed + after, before + trapping + after});
    }
    begin = end + 1;
  }
  return mutants;
}

} // namespace fa::runtime::tool
