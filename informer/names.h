/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFORMER_NAMES_H
#define INFORMER_NAMES_H

/* Names of the API that extraction looks for. */
#define OUR_MANAGER "mokka-controller"
#define OUR_API_VERSION "mokka.nvidia.com/v1alpha1"

#define LABEL_ASSIGNED "mokka.nvidia.com/sgpu-assigned"
#define LABEL_CLIQUE "nvidia.com/gpu.clique"
#define ANNOTATION_ASSIGNMENT "mokka.nvidia.com/sgpu-assignment"

#endif
