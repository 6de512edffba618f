/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/load.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "supervisor/mokkactl/input.h"

static void
read_json(struct input *in, const char *name, struct accept *accept,
          struct problems *problems)
{
    struct json_pieces *pieces = json_pieces_new(in, name, problems);
    struct piece *piece;

    while ((piece = json_pieces_next(pieces)) != NULL)
        accept_piece(accept, piece);
    json_pieces_free(pieces);
}

static void
read_yaml(struct input *in, const char *name, struct accept *accept,
          struct problems *problems)
{
    struct yaml_pieces *pieces = yaml_pieces_new(in, name, problems);
    struct piece *piece;

    while ((piece = yaml_pieces_next(pieces)) != NULL)
        accept_piece(accept, piece);
    yaml_pieces_free(pieces);
}

static void
tell(struct problems *problems, enum severity severity, const char *file,
     const char *what)
{
    problem(problems, severity, &(struct place){.file = file}, "%s", what);
}

static size_t
load_file(const char *path, struct accept *accept, struct problems *problems)
{
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    size_t before = problems_errors(problems);
    struct input *in;
    struct err err;
    size_t bytes;

    problems_begin(problems);
    in = input_open(path, &err);
    if (in == NULL) {
        tell(problems, PROBLEM_ERROR, name, err.text);
        return 0;
    }
    if (input_peek(in) == '{')
        read_json(in, name, accept, problems);
    else
        read_yaml(in, name, accept, problems);
    if (!accept_file_end(accept, name) && problems_errors(problems) == before)
        tell(problems, PROBLEM_WARNING, name, "there is no object in it");
    bytes = input_bytes(in);
    input_close(in);
    problems_end(problems, name);
    return bytes;
}

static bool
has_suffix(const char *name)
{
    static const char *const suffixes[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot != NULL && i < nitems(suffixes); i++)
        if (strcmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

static int
is_wanted(const struct dirent *entry)
{
    return has_suffix(entry->d_name);
}

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool
is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static size_t
load_directory(const char *path, struct accept *accept,
               struct problems *problems)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_wanted, by_bytes);
    size_t bytes = 0, files = 0;
    struct err err;

    if (count < 0) {
        err_errno(&err, "cannot be read");
        tell(problems, PROBLEM_ERROR, path, err.text);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        char *file = mem_printf("%s/%s", path, entries[i]->d_name);

        if (!is_directory(file)) {
            bytes += load_file(file, accept, problems);
            files++;
        }
        free(file);
        free(entries[i]);
    }
    free(entries);
    if (files == 0)
        tell(problems, PROBLEM_ERROR, path,
             "a directory without files named *.yaml, *.yml or *.json");
    return bytes;
}

size_t
load(const char *path, struct accept *accept, struct problems *problems)
{
    if (strcmp(path, "-") != 0 && is_directory(path))
        return load_directory(path, accept, problems);
    return load_file(path, accept, problems);
}
