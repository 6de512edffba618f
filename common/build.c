/* SPDX-License-Identifier: Apache-2.0 */
#include "common/build.h"

/* CMakeLists.txt defines what these are made of, for this file alone. */
const char build_version[] = MOKKA_VERSION;
const char build_date[] = MOKKA_DATE;
const char build_commit[] = MOKKA_COMMIT;
const char build_id[] = MOKKA_VERSION "-" MOKKA_COMMIT;
