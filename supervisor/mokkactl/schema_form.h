/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOKKACTL_SCHEMA_FORM_H
#define MOKKACTL_SCHEMA_FORM_H

#include "supervisor/mokkactl/schema.h"

/* The forms of texts that the schemas ask for, where they name a pattern. */

extern const struct form form_pci_address;    /* 0000:1b:00.0 */
extern const struct form form_root_complex;   /* pci0000:15 */
extern const struct form form_gpu_uuid;       /* GPU-, UUID */
extern const struct form form_uuid;           /* any case, hyphens optional */
extern const struct form form_revision;       /* 64 hex digits */
extern const struct form form_performance;    /* P0 */
extern const struct form form_time;           /* RFC 3339 */
extern const struct form form_condition_type; /* label key, or shorter */
extern const struct form form_reason;         /* a word of CamelCase */
extern const struct form form_quantity;       /* 80Gi */
extern const struct form form_object_name;    /* a DNS subdomain */
extern const struct form form_label_key;
extern const struct form form_label_value;
extern const struct form form_annotation_key; /* a label key in any case */
extern const struct form form_version;        /* a decimal number */
extern const struct form form_nothing;        /* empty */

#endif
