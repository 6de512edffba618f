/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/canonical_members.h"

#include <stddef.h>

#define A CANONICAL_ALWAYS
#define Z CANONICAL_UNLESS_ZERO
#define P CANONICAL_UNLESS_ABSENT
#define PLAIN(name, rule, type)                                                \
    {                                                                          \
        name, rule, CANONICAL_##type, NULL, NULL                               \
    }
#define OBJ(name, rule, type, members)                                         \
    {                                                                          \
        name, rule, CANONICAL_##type, members, NULL                            \
    }
#define END                                                                    \
    {                                                                          \
        NULL, A, CANONICAL_BOOLEAN, NULL, NULL                                 \
    }

static const struct canonical_member clocks_state[] = {
    PLAIN("graphicsMHz", Z, INT32),
    PLAIN("smMHz", Z, INT32),
    PLAIN("memoryMHz", Z, INT32),
    PLAIN("videoMHz", Z, INT32),
    END,
};

static const struct canonical_member temperature[] = {
    PLAIN("mode", Z, TEXT),
    PLAIN("gpuCelsius", Z, INT32),
    PLAIN("memoryCelsius", Z, INT32),
    END,
};

static const struct canonical_member power_state[] = {
    PLAIN("mode", Z, TEXT),
    PLAIN("drawMilliWatts", Z, INT64),
    END,
};

static const struct canonical_member percent[] = {
    PLAIN("minimum", A, INT32),
    PLAIN("maximum", A, INT32),
    END,
};

static const struct canonical_member pattern[] = {
    PLAIN("type", Z, TEXT),
    OBJ("gpuPercent", P, OBJECT, percent),
    OBJ("memoryPercent", P, OBJECT, percent),
    END,
};

static const struct canonical_member utilization[] = {
    PLAIN("mode", Z, TEXT),
    OBJ("pattern", P, OBJECT, pattern),
    END,
};

static const struct canonical_member telemetry[] = {
    PLAIN("performanceState", Z, TEXT),
    OBJ("utilization", P, OBJECT, utilization),
    OBJ("power", P, OBJECT, power_state),
    OBJ("temperature", P, OBJECT, temperature),
    OBJ("clocks", P, OBJECT, clocks_state),
    END,
};

static const struct canonical_member modes[] = {
    PLAIN("persistence", Z, TEXT), PLAIN("compute", Z, TEXT),
    PLAIN("mig", Z, TEXT),         PLAIN("ecc", Z, TEXT),
    PLAIN("accounting", Z, TEXT),  END,
};

static const struct canonical_member runtime[] = {
    PLAIN("deviceState", Z, TEXT),
    OBJ("modes", P, OBJECT, modes),
    OBJ("telemetry", P, OBJECT, telemetry),
    END,
};

static const struct canonical_member defaults[] = {
    OBJ("runtime", P, OBJECT, runtime),
    END,
};

static const struct canonical_member software[] = {
    PLAIN("driverVersion", Z, TEXT),
    PLAIN("nvmlVersion", Z, TEXT),
    PLAIN("cudaVersion", Z, TEXT),
    END,
};

static const struct canonical_member network[] = {
    PLAIN("type", Z, TEXT),
    PLAIN("adapterModel", Z, TEXT),
    PLAIN("firmwareVersion", Z, TEXT),
    PLAIN("linkSpeedGbps", Z, INT32),
    PLAIN("adaptersPerGPU", Z, INT32),
    END,
};

static const struct canonical_member switches[] = {
    PLAIN("visiblePerNode", Z, INT32),
    END,
};

static const struct canonical_member domain[] = {
    PLAIN("scope", Z, TEXT),
    PLAIN("gpuCount", Z, INT32),
    END,
};

static const struct canonical_member gpu_fabric[] = {
    PLAIN("type", Z, TEXT),
    PLAIN("generation", Z, INT32),
    PLAIN("linksPerGPU", Z, INT32),
    PLAIN("bandwidthPerLinkMBps", Z, INT32),
    PLAIN("c2cSupported", Z, BOOLEAN),
    OBJ("domain", P, OBJECT, domain),
    OBJ("switches", P, OBJECT, switches),
    END,
};

static const struct canonical_member gpu_slot[] = {
    PLAIN("index", A, INT32),
    PLAIN("pciAddress", A, TEXT),
    PLAIN("rootComplex", A, TEXT),
    PLAIN("numaNode", Z, INT32),
    PLAIN("hostProcessorIndex", Z, INT32),
    END,
};

static const struct canonical_member topology[] = {
    {"gpuSlots", A, CANONICAL_OBJECTS, gpu_slot, "index"},
    OBJ("gpuFabric", P, OBJECT, gpu_fabric),
    OBJ("network", P, OBJECT, network),
    END,
};

static const struct canonical_member host_memory[] = {
    PLAIN("capacity", A, QUANTITY),
    PLAIN("coherentWithGPU", Z, BOOLEAN),
    END,
};

static const struct canonical_member cpu[] = {
    PLAIN("vendor", Z, TEXT),
    PLAIN("product", Z, TEXT),
    PLAIN("architecture", Z, TEXT),
    PLAIN("cores", Z, INT32),
    END,
};

static const struct canonical_member host[] = {
    OBJ("cpu", P, OBJECT, cpu),
    OBJ("memory", P, OBJECT, host_memory),
    END,
};

static const struct canonical_member attribute[] = {
    PLAIN("bool", P, BOOLEAN),
    PLAIN("int", P, INT64),
    PLAIN("string", Z, TEXT),
    PLAIN("strings", Z, TEXTS),
    END,
};

static const struct canonical_member mig[] = {
    PLAIN("supported", Z, BOOLEAN),
    PLAIN("maxGPUInstances", Z, INT32),
    END,
};

static const struct canonical_member capabilities[] = {
    OBJ("mig", P, OBJECT, mig),
    OBJ("attributes", Z, MAP, attribute),
    END,
};

static const struct canonical_member supported[] = {
    PLAIN("memoryMHz", A, INT32),
    PLAIN("graphicsMHz", A, NUMBERS),
    END,
};

static const struct canonical_member maximum_mhz[] = {
    PLAIN("graphics", Z, INT32),
    PLAIN("sm", Z, INT32),
    PLAIN("memory", Z, INT32),
    PLAIN("video", Z, INT32),
    END,
};

static const struct canonical_member clocks[] = {
    OBJ("maximumMHz", P, OBJECT, maximum_mhz),
    OBJ("supported", Z, OBJECTS, supported),
    END,
};

static const struct canonical_member thermal[] = {
    PLAIN("targetCelsius", Z, INT32),
    PLAIN("maxOperatingCelsius", Z, INT32),
    PLAIN("slowdownThresholdCelsius", Z, INT32),
    PLAIN("shutdownThresholdCelsius", Z, INT32),
    END,
};

static const struct canonical_member power_limits[] = {
    PLAIN("minimum", Z, INT64),
    PLAIN("default", Z, INT64),
    PLAIN("maximum", Z, INT64),
    END,
};

static const struct canonical_member power[] = {
    PLAIN("managementSupported", Z, BOOLEAN),
    OBJ("limitsMilliWatts", P, OBJECT, power_limits),
    END,
};

static const struct canonical_member max_link[] = {
    PLAIN("generation", Z, INT32),
    PLAIN("width", Z, INT32),
    END,
};

static const struct canonical_member pci[] = {
    PLAIN("vendorID", Z, TEXT),          PLAIN("deviceID", Z, TEXT),
    PLAIN("subsystemVendorID", Z, TEXT), PLAIN("subsystemDeviceID", Z, TEXT),
    OBJ("maxLink", P, OBJECT, max_link), END,
};

static const struct canonical_member memory[] = {
    PLAIN("capacity", A, QUANTITY),
    PLAIN("reserved", P, QUANTITY),
    PLAIN("bar1Capacity", P, QUANTITY),
    PLAIN("busWidthBits", Z, INT32),
    END,
};

static const struct canonical_member info_rom[] = {
    PLAIN("imageVersion", Z, TEXT),
    PLAIN("oemObjectVersion", Z, TEXT),
    PLAIN("eccObjectVersion", Z, TEXT),
    PLAIN("powerObjectVersion", Z, TEXT),
    END,
};

static const struct canonical_member firmware[] = {
    PLAIN("vbiosVersion", Z, TEXT),
    PLAIN("gspVersion", Z, TEXT),
    OBJ("infoROM", P, OBJECT, info_rom),
    END,
};

static const struct canonical_member board[] = {
    PLAIN("partNumber", Z, TEXT),
    END,
};

static const struct canonical_member cores[] = {
    PLAIN("cuda", Z, INT32),
    END,
};

static const struct canonical_member compute_capability[] = {
    PLAIN("major", A, INT32),
    PLAIN("minor", A, INT32),
    END,
};

static const struct canonical_member model[] = {
    PLAIN("vendor", Z, TEXT),
    PLAIN("product", Z, TEXT),
    PLAIN("productName", Z, TEXT),
    PLAIN("architecture", Z, TEXT),
    OBJ("computeCapability", P, OBJECT, compute_capability),
    OBJ("cores", P, OBJECT, cores),
    OBJ("board", P, OBJECT, board),
    OBJ("firmware", P, OBJECT, firmware),
    END,
};

static const struct canonical_member gpus[] = {
    PLAIN("count", A, INT32),
    OBJ("model", A, OBJECT, model),
    OBJ("memory", A, OBJECT, memory),
    OBJ("pci", A, OBJECT, pci),
    OBJ("power", P, OBJECT, power),
    OBJ("thermal", P, OBJECT, thermal),
    OBJ("clocks", P, OBJECT, clocks),
    OBJ("capabilities", P, OBJECT, capabilities),
    END,
};

static const struct canonical_member node[] = {
    OBJ("gpus", A, OBJECT, gpus),
    OBJ("host", P, OBJECT, host),
    OBJ("topology", CANONICAL_NEEDED, OBJECT, topology),
    END,
};

static const struct canonical_member rack[] = {
    PLAIN("nodesPerRack", A, INT32),
    END,
};

const struct canonical_member canonical_members[] = {
    OBJ("rack", A, OBJECT, rack),
    OBJ("node", A, OBJECT, node),
    OBJ("software", P, OBJECT, software),
    OBJ("defaults", P, OBJECT, defaults),
    END,
};
