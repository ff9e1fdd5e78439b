// Readers of the records that several translation units share.
#pragma once

#include "bind.hpp"
#include "search.hpp"

namespace sgtb {

SGTB_RECORD(Forest, depth, planes, words, n_local, roots, nodes, value, splits,
            local_splits, global_splits, leaf_value)
SGTB_RECORD(TreeMasks, tree, row, mask, value)
SGTB_RECORD(Pairs, kind, n_features, entity_offsets, block_offsets, block, row, vectors,
            space_offsets, link_offsets, link_targets, link_counts)
SGTB_RECORD(Search, mention_offsets, candidate_offsets, gold, entity, mention_blocks, n_local,
            local, pairs, global_thresholds, step_offsets, mention, step_blocks, clamp, forest,
            beam_width)

}  // namespace sgtb
