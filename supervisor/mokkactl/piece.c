/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/piece.h"

size_t
piece_line(struct piece *piece, const json_t *container, const char *key,
           size_t index)
{
    if (piece->lines.count == 0 && piece->text.n > 0)
        lines_scan(&piece->lines, piece->tree, piece->text, piece->place.line);
    return lines_find(&piece->lines, container, key, index);
}
