/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "common/log.h"
#include "supervisor/last_words.h"
#include "supervisor/options.h"
#include "supervisor/supervisor.h"

static void
set_up_log(const struct options *options)
{
    enum log_level level = LOG_INFO;
    enum log_format format = LOG_JSON;

    log_unblock();
    log_level_parse(options_get(options, "log-level"), &level);
    log_format_parse(options_get(options, "log-format"), &format);
    log_setup("supervisor", 0, level, format);
    if (options_given(options, "workers"))
        log_info("--workers has no effect here: requests in flight adapt by "
                 "themselves",
                 F_STR("workers", options_get(options, "workers")));
}

int
main(int argc, char **argv)
{
    struct options *options;
    struct err err = {""};
    int status;

    switch (options_read(&options, argc, argv, &err)) {
    case OPTIONS_SHOWN:
        return 0;
    case OPTIONS_BAD:
        fprintf(stderr, "control-plane: %s\n", err.text);
        last_words(LAST_WORDS_FILE, err.text);
        return 1;
    case OPTIONS_OK:
        break;
    }
    set_up_log(options);
    status = supervisor_run(options, &err);
    if (status != 0) {
        fprintf(stderr, "control-plane: %s\n", err.text);
        last_words(LAST_WORDS_FILE, err.text);
    } else {
        log_info("stopped");
    }
    options_free(options);
    return status;
}
