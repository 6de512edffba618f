/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "supervisor/mokkactl/schema.h"
#include "supervisor/mokkactl/schema_form.h"

/*
 * The schemas, from the leaves up: crds/ as tables.  Beside the names: what a
 * row says of its value.
 */
#define RANGE(low, high) .bounded = true, .least = (low), .most = (high)
#define AT_LEAST(low) RANGE(low, INT64_MAX)
#define REQUIRED .required = true
#define TEXT .type = FIELD_STRING
#define I32 .type = FIELD_INT32
#define I64 .type = FIELD_INT64
#define BOOL .type = FIELD_BOOL
#define QUANTITY .type = FIELD_QUANTITY
#define OBJECT(of) .type = FIELD_OBJECT, .members = (of), .count = nitems(of)
#define LIST(of) .type = FIELD_LIST, .item = &(of)
#define SET(of) LIST(of), .set = true
#define KEYED(of, by) LIST(of), .key = (by)
#define MAP(of) .type = FIELD_MAP, .item = &(of)
#define FORM(of) .form = (&form_##of)
#define CHOICES(...)                                                           \
    .choices = (const char *const[])                                           \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

static const struct field any_text = {TEXT};
static const struct field any_i32 = {I32};

/* Conditions, the ordinary ones of Kubernetes. */
static const struct field condition_members[] = {
    {"type", TEXT, REQUIRED, RANGE(0, 316), FORM(condition_type)},
    {"status", TEXT, REQUIRED, CHOICES("True", "False", "Unknown")},
    {"observedGeneration", I64, AT_LEAST(0)},
    {"lastTransitionTime", TEXT, REQUIRED, FORM(time)},
    {"reason", TEXT, REQUIRED, RANGE(1, 1024), FORM(reason)},
    {"message", TEXT, REQUIRED, RANGE(0, 32768)},
};
static const struct field condition = {OBJECT(condition_members)};

/* How simulated GPUs behave: defaults of a profile, and runtime policies. */
#define ON_OFF CHOICES("Enabled", "Disabled")

static const struct field modes[] = {
    {"persistence", TEXT, ON_OFF},
    {"compute", TEXT, CHOICES("Default", "Exclusive", "Prohibited")},
    {"mig", TEXT, ON_OFF},
    {"ecc", TEXT, ON_OFF},
    {"accounting", TEXT, ON_OFF},
};
static const struct field percent[] = {
    {"minimum", I32, REQUIRED, RANGE(0, 100)},
    {"maximum", I32, REQUIRED, RANGE(0, 100)},
};
static const struct field pattern[] = {
    {"type", TEXT, CHOICES("Steady", "Bursty", "Wave")},
    {"gpuPercent", OBJECT(percent)},
    {"memoryPercent", OBJECT(percent)},
};
static const struct field utilization[] = {
    {"mode", TEXT, CHOICES("Pattern", "Fixed")},
    {"pattern", OBJECT(pattern)},
};
static const struct field power_now[] = {
    {"mode", TEXT, CHOICES("Fixed", "Pattern")},
    {"drawMilliWatts", I64, AT_LEAST(0)},
};
static const struct field temperature[] = {
    {"mode", TEXT, CHOICES("Fixed", "Pattern")},
    {"gpuCelsius", I32},
    {"memoryCelsius", I32},
};
static const struct field clocks_now[] = {
    {"graphicsMHz", I32, AT_LEAST(0)},
    {"smMHz", I32, AT_LEAST(0)},
    {"memoryMHz", I32, AT_LEAST(0)},
    {"videoMHz", I32, AT_LEAST(0)},
};
static const struct field telemetry[] = {
    {"performanceState", TEXT, FORM(performance)},
    {"utilization", OBJECT(utilization)},
    {"power", OBJECT(power_now)},
    {"temperature", OBJECT(temperature)},
    {"clocks", OBJECT(clocks_now)},
};
static const struct field runtime[] = {
    {"deviceState", TEXT, CHOICES("Healthy", "Degraded", "Failed")},
    {"modes", OBJECT(modes)},
    {"telemetry", OBJECT(telemetry)},
};

/* SGPURackProfile. */
static const struct field compute_capability[] = {
    {"major", I32, REQUIRED},
    {"minor", I32, REQUIRED},
};
static const struct field cores[] = {{"cuda", I32}};
static const struct field board[] = {{"partNumber", TEXT}};
static const struct field info_rom[] = {
    {"imageVersion", TEXT},
    {"oemObjectVersion", TEXT},
    {"eccObjectVersion", TEXT},
    {"powerObjectVersion", TEXT},
};
static const struct field firmware[] = {
    {"vbiosVersion", TEXT},
    {"gspVersion", TEXT},
    {"infoROM", OBJECT(info_rom)},
};
static const struct field model[] = {
    {"vendor", TEXT},
    {"product", TEXT},
    {"productName", TEXT},
    {"architecture", TEXT},
    {"computeCapability", OBJECT(compute_capability)},
    {"cores", OBJECT(cores)},
    {"board", OBJECT(board)},
    {"firmware", OBJECT(firmware)},
};
static const struct field gpu_memory[] = {
    {"capacity", QUANTITY, REQUIRED},
    {"reserved", QUANTITY},
    {"bar1Capacity", QUANTITY},
    {"busWidthBits", I32},
};
static const struct field max_link[] = {
    {"generation", I32},
    {"width", I32},
};
static const struct field pci[] = {
    {"vendorID", TEXT},
    {"deviceID", TEXT},
    {"subsystemVendorID", TEXT},
    {"subsystemDeviceID", TEXT},
    {"maxLink", OBJECT(max_link)},
};
static const struct field power_limits[] = {
    {"minimum", I64},
    {"default", I64},
    {"maximum", I64},
};
static const struct field power[] = {
    {"managementSupported", BOOL},
    {"limitsMilliWatts", OBJECT(power_limits)},
};
static const struct field thermal[] = {
    {"targetCelsius", I32},
    {"maxOperatingCelsius", I32},
    {"slowdownThresholdCelsius", I32},
    {"shutdownThresholdCelsius", I32},
};
static const struct field max_clocks[] = {
    {"graphics", I32},
    {"sm", I32},
    {"memory", I32},
    {"video", I32},
};
static const struct field clock_pair_members[] = {
    {"memoryMHz", I32, REQUIRED},
    {"graphicsMHz", REQUIRED, SET(any_i32)},
};
static const struct field clock_pair = {OBJECT(clock_pair_members)};
static const struct field clocks[] = {
    {"maximumMHz", OBJECT(max_clocks)},
    {"supported", LIST(clock_pair)},
};
static const struct field mig[] = {
    {"supported", BOOL},
    {"maxGPUInstances", I32},
};
static const struct field attribute_members[] = {
    {"bool", BOOL},
    {"int", I64},
    {"string", TEXT},
    {"strings", SET(any_text)},
};
static const struct field attribute = {OBJECT(attribute_members)};
static const struct field capabilities[] = {
    {"mig", OBJECT(mig)},
    {"attributes", MAP(attribute)},
};
static const struct field gpus[] = {
    {"count", I32, REQUIRED, RANGE(1, 64)},
    {"model", REQUIRED, OBJECT(model)},
    {"memory", REQUIRED, OBJECT(gpu_memory)},
    {"pci", REQUIRED, OBJECT(pci)},
    {"power", OBJECT(power)},
    {"thermal", OBJECT(thermal)},
    {"clocks", OBJECT(clocks)},
    {"capabilities", OBJECT(capabilities)},
};
static const struct field cpu[] = {
    {"vendor", TEXT},
    {"product", TEXT},
    {"architecture", TEXT},
    {"cores", I32},
};
static const struct field host_memory[] = {
    {"capacity", QUANTITY, REQUIRED},
    {"coherentWithGPU", BOOL},
};
static const struct field host[] = {
    {"cpu", OBJECT(cpu)},
    {"memory", OBJECT(host_memory)},
};
static const struct field gpu_slot_members[] = {
    {"index", I32, REQUIRED, RANGE(0, 63)},
    {"pciAddress", TEXT, REQUIRED, FORM(pci_address)},
    {"rootComplex", TEXT, REQUIRED, FORM(root_complex)},
    {"numaNode", I32},
    {"hostProcessorIndex", I32},
};
static const struct field gpu_slot = {OBJECT(gpu_slot_members)};
static const struct field domain[] = {
    {"scope", TEXT, CHOICES("Node", "Rack", "Cluster")},
    {"gpuCount", I32},
};
static const struct field switches[] = {{"visiblePerNode", I32}};
static const struct field gpu_fabric[] = {
    {"type", TEXT},
    {"generation", I32},
    {"linksPerGPU", I32},
    {"bandwidthPerLinkMBps", I32},
    {"c2cSupported", BOOL},
    {"domain", OBJECT(domain)},
    {"switches", OBJECT(switches)},
};
static const struct field network[] = {
    {"type", TEXT},         {"adapterModel", TEXT},  {"firmwareVersion", TEXT},
    {"linkSpeedGbps", I32}, {"adaptersPerGPU", I32},
};
static const struct field topology[] = {
    {"gpuSlots", REQUIRED, RANGE(1, 64), KEYED(gpu_slot, "index")},
    {"gpuFabric", OBJECT(gpu_fabric)},
    {"network", OBJECT(network)},
};

/* Written as 4.0, a number is no integer to a rule. */
#define NO_INTEGER "the numbers in gpus.count and gpuSlots must be integers"

static const char *
one_slot_for_each_gpu(const json_t *node)
{
    const json_t *count =
        json_object_get(json_object_get(node, "gpus"), "count");
    const json_t *slots =
        json_object_get(json_object_get(node, "topology"), "gpuSlots");
    const json_t *slot;
    size_t i;

    if (!json_is_number(count) || !json_is_array(slots))
        return NULL;
    if (!json_is_integer(count))
        return NO_INTEGER;
    if (json_array_size(slots) != (size_t)json_integer_value(count))
        return "topology.gpuSlots must have one slot for each GPU of "
               "gpus.count";
    json_array_foreach(slots, i, slot)
    {
        const json_t *index = json_object_get(slot, "index");

        if (json_is_real(index))
            return NO_INTEGER;
        if (json_integer_value(index) >= json_integer_value(count))
            return "topology.gpuSlots must have indexes below gpus.count";
    }
    return NULL;
}

static const struct field node[] = {
    {"gpus", REQUIRED, OBJECT(gpus)},
    {"host", OBJECT(host)},
    {"topology", REQUIRED, OBJECT(topology)},
};
static const struct field rack_size[] = {
    {"nodesPerRack", I32, REQUIRED, RANGE(1, 1024)},
};
static const struct field software[] = {
    {"driverVersion", TEXT},
    {"nvmlVersion", TEXT},
    {"cudaVersion", TEXT},
};
static const struct field defaults[] = {{"runtime", OBJECT(runtime)}};
static const struct field profile_spec[] = {
    {"rack", REQUIRED, OBJECT(rack_size)},
    {"node", REQUIRED, OBJECT(node), .rule = one_slot_for_each_gpu},
    {"software", OBJECT(software)},
    {"defaults", OBJECT(defaults)},
};

/* SGPUInventory. */
static const struct field expression_members[] = {
    {"key", TEXT, REQUIRED},
    {"operator", TEXT, REQUIRED},
    {"values", LIST(any_text)},
};
static const struct field expression = {OBJECT(expression_members)};
static const struct field selector[] = {
    {"matchLabels", MAP(any_text)},
    {"matchExpressions", LIST(expression)},
};
static const struct field placement[] = {{"nodeSelector", OBJECT(selector)}};
static const struct field profile_name[] = {
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
};
static const struct field group_members[] = {
    {"id", TEXT, REQUIRED, RANGE(1, 63)},
    {"count", I32, REQUIRED, RANGE(1, 100000)},
    {"profileRef", REQUIRED, OBJECT(profile_name)},
    {"placement", OBJECT(placement)},
};
static const struct field group = {OBJECT(group_members)};
static const struct field inventory_spec[] = {
    {"rackGroups", REQUIRED, RANGE(1, 64), KEYED(group, "id")},
};
static const struct field capacity[] = {
    {"racks", I32, REQUIRED},
    {"nodes", I32, REQUIRED},
    {"gpus", I32, REQUIRED},
};
static const struct field usage[] = {
    {"requestedNodes", I32, REQUIRED},
    {"allocatedNodes", I32, REQUIRED},
    {"availableNodes", I32, REQUIRED},
    {"pendingNodes", I32, REQUIRED},
};
static const struct field group_status_members[] = {
    {"id", TEXT, REQUIRED},
    {"profileName", TEXT, REQUIRED},
    {"capacity", REQUIRED, OBJECT(capacity)},
    {"usage", REQUIRED, OBJECT(usage)},
};
static const struct field group_status = {OBJECT(group_status_members)};
static const struct field inventory_status[] = {
    {"rackGroupsSummary", TEXT},
    {"capacity", OBJECT(capacity)},
    {"usage", OBJECT(usage)},
    {"rackGroups", KEYED(group_status, "id")},
    {"conditions", KEYED(condition, "type")},
};

/* SGPURack. */
static const char *
has_uid(const json_t *reference)
{
    const char *uid = json_string_value(json_object_get(reference, "uid"));

    return uid != NULL && uid[0] == '\0' ? "uid must not be empty" : NULL;
}

static const struct field rack_inventory[] = {
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
    {"uid", TEXT, REQUIRED},
};
static const struct field rack_profile[] = {
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
    {"uid", TEXT, REQUIRED},
    {"generation", I64, REQUIRED, AT_LEAST(1)},
    {"revision", TEXT, REQUIRED, FORM(revision)},
};
static const struct field identity[] = {
    {"rackGroup", TEXT, REQUIRED, RANGE(1, 63)},
    {"rackIndex", I32, REQUIRED, AT_LEAST(0)},
    {"fabricUUID", TEXT, REQUIRED, FORM(uuid)},
    {"cliqueID", I32, REQUIRED, RANGE(0, 0)},
};
static const struct field gpu_members[] = {
    {"index", I32, REQUIRED, RANGE(0, 63)},
    {"uuid", TEXT, REQUIRED, FORM(gpu_uuid)},
    {"serial", TEXT, REQUIRED, AT_LEAST(1)},
    {"minorNumber", I32, REQUIRED, AT_LEAST(0)},
    {"pciAddress", TEXT, REQUIRED, FORM(pci_address)},
    {"rootComplex", TEXT, REQUIRED, FORM(root_complex)},
    {"numaNode", I32, REQUIRED, AT_LEAST(0)},
    {"hostProcessorIndex", I32, REQUIRED, AT_LEAST(0)},
};
static const struct field gpu = {OBJECT(gpu_members)};
static const struct field node_ref[] = {
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
    {"uid", TEXT, REQUIRED},
};
static const struct field slot_members[] = {
    {"index", I32, REQUIRED, RANGE(0, 1023)},
    {"nodeRef", OBJECT(node_ref), .rule = has_uid},
    {"gpus", REQUIRED, RANGE(1, 64), KEYED(gpu, "index")},
};
static const struct field slot = {OBJECT(slot_members)};
static const struct field rack_spec[] = {
    {"inventoryRef", REQUIRED, OBJECT(rack_inventory), .rule = has_uid},
    {"profileRef", REQUIRED, OBJECT(rack_profile), .rule = has_uid},
    {"identity", REQUIRED, OBJECT(identity)},
    {"nodes", REQUIRED, RANGE(1, 1024), KEYED(slot, "index")},
};
static const struct field rack_status[] = {
    {"observedGeneration", I64, AT_LEAST(0)},
    {"assignedNodes", I32, AT_LEAST(0)},
    {"conditions", KEYED(condition, "type")},
};

/* SGPURuntimePolicy. */
static const struct field target[] = {
    {"group", TEXT, REQUIRED, CHOICES("mokka.nvidia.com")},
    {"kind", TEXT, REQUIRED, CHOICES("SGPUInventory")},
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
    {"rackGroups", RANGE(1, 64), SET(any_text)},
    {"rackIndexes", RANGE(1, 64), SET(any_i32)},
    {"nodeIndexes", RANGE(1, 64), SET(any_i32)},
    {"gpuIndexes", RANGE(1, 64), SET(any_i32)},
};
static const struct field policy_spec[] = {
    {"targetRef", REQUIRED, OBJECT(target)},
    {"runtime", OBJECT(runtime)},
};
static const struct field policy_status[] = {
    {"rackGroupsSummary", TEXT},
    {"rackIndexesSummary", TEXT},
    {"nodeIndexesSummary", TEXT},
    {"gpuIndexesSummary", TEXT},
};

/* Metadata, of every kind alike. */
static const struct field owner_members[] = {
    {"apiVersion", TEXT, REQUIRED, AT_LEAST(1)},
    {"kind", TEXT, REQUIRED, AT_LEAST(1)},
    {"name", TEXT, REQUIRED, AT_LEAST(1)},
    {"uid", TEXT, REQUIRED, AT_LEAST(1)},
    {"controller", BOOL},
    {"blockOwnerDeletion", BOOL},
};
static const struct field owner = {OBJECT(owner_members)};
static const struct field managed_members[] = {
    {"manager", TEXT},     {"operation", TEXT},
    {"apiVersion", TEXT},  {"time", TEXT, FORM(time)},
    {"fieldsType", TEXT},  {"fieldsV1", .type = FIELD_ANY},
    {"subresource", TEXT},
};
static const struct field managed = {OBJECT(managed_members)};
static const struct field label = {TEXT, FORM(label_value)};
static const struct field metadata[] = {
    {"name", TEXT, REQUIRED, FORM(object_name)},
    {"generateName", TEXT},
    {"namespace", TEXT, FORM(nothing)},
    {"selfLink", TEXT},
    {"uid", TEXT},
    {"resourceVersion", TEXT, FORM(version)},
    {"generation", I64, AT_LEAST(0)},
    {"creationTimestamp", TEXT, FORM(time)},
    {"deletionTimestamp", TEXT, FORM(time)},
    {"deletionGracePeriodSeconds", I64},
    {"labels", MAP(label), FORM(label_key)},
    {"annotations", MAP(any_text), FORM(annotation_key)},
    {"ownerReferences", LIST(owner)},
    {"finalizers", SET(any_text)},
    {"managedFields", LIST(managed)},
};

#define OURS "mokka.nvidia.com/v1alpha1"
#define HEAD                                                                   \
    {"apiVersion", TEXT, REQUIRED}, {"kind", TEXT, REQUIRED},                  \
    {                                                                          \
        "metadata", REQUIRED, OBJECT(metadata)                                 \
    }

static const struct field profile[] = {
    HEAD,
    {"spec", REQUIRED, OBJECT(profile_spec)},
};
static const struct field inventory[] = {
    HEAD,
    {"spec", REQUIRED, OBJECT(inventory_spec)},
    {"status", OBJECT(inventory_status)},
};
static const struct field rack[] = {
    HEAD,
    {"spec", REQUIRED, OBJECT(rack_spec)},
    {"status", OBJECT(rack_status)},
};
static const struct field policy[] = {
    HEAD,
    {"spec", REQUIRED, OBJECT(policy_spec)},
    {"status", OBJECT(policy_status)},
};
static const struct field kubernetes_node[] = {
    HEAD,
    {"spec", .type = FIELD_ANY},
    {"status", .type = FIELD_ANY},
};

static const struct schema schemas[] = {
    {OURS, "SGPURackProfile", {OBJECT(profile)}},
    {OURS, "SGPUInventory", {OBJECT(inventory)}},
    {OURS, "SGPURack", {OBJECT(rack)}},
    {OURS, "SGPURuntimePolicy", {OBJECT(policy)}},
    {"v1", "Node", {OBJECT(kubernetes_node)}},
};

const struct schema *
schema_of(const char *kind)
{
    for (size_t i = 0; i < nitems(schemas); i++)
        if (strcmp(schemas[i].kind, kind) == 0)
            return &schemas[i];
    return NULL;
}
