/* SPDX-License-Identifier: MIT */
/*
 * x86 CPUs as objects. A CPU's features are bits in a copy of its CPUID words, so an object is some
 * hundred bytes, whatever the number of its properties.
 */
#include "vmm/x86-cpu.h"

#include <string.h>

#include "vmm/device.h"
#include "vmm/memory-region.h"
#include "vmm/x86-features.h"

struct X86CpuTypes {
    X86Features *features;
    GArray *rows; /* Property: those in C, then the features */
    ObjectType base;
    GPtrArray *models; /* X86Model, owned */
};

typedef struct X86Model {
    ObjectType type;
    const X86CpuTypes *types;
    JsonSlice definition;
} X86Model;

typedef struct X86Cpu {
    Device base;
    Object *memory;
    uint32_t words[X86_MAX_WORDS];    /* what the guest sees, as CPUID has it; then the options */
    uint32_t filtered[X86_MAX_WORDS]; /* what the model has and the accelerator lacks */
    int32_t socket_id, die_id, module_id, core_id, thread_id, node_id;
    uint32_t apic_id;
    uint64_t family, model, stepping;
    int64_t tsc_frequency;
    uint32_t level, xlevel, xlevel2, min_level, min_xlevel, min_xlevel2, level_func7;
    char *vendor, *model_id;
    uint32_t phys_bits, guest_phys_bits;
    uint8_t host_phys_bits_limit, avx10_version;
    uint64_t ucode_rev, lbr_fmt;
    int hv_no_nonarch_coresharing;
    char *hv_vendor_id;
    uint32_t hv_spinlocks, hv_version_id_build, hv_version_id_snumber, hv_version_id_spack;
    uint16_t hv_version_id_major, hv_version_id_minor;
    uint8_t hv_version_id_sbranch;
    int32_t x_hv_max_vps;
    bool migratable, host_cache_info; /* of what takes its features from the host */
} X86Cpu;

/* ---- calculated properties ---- */

static gboolean get_crash(Object *object G_GNUC_UNUSED, const Property *prop G_GNUC_UNUSED, GString *out G_GNUC_UNUSED,
                          GError **error)
{
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_UNREADABLE, "No crash occurred");
    return FALSE;
}

/* What differs from the common values; absent where nothing is known. Looked for when it is needed: most
 * models never are. */
static JsonSlice model_values(const X86Model *model)
{
    g_autofree char *name = json_string_dup(json_member(model->definition, "name"), NULL);

    return x86_features_model_values(name);
}

static const X86Model *model_of(const Object *object)
{
    return class_type(object->class)->data;
}

static gboolean get_feature_words(Object *object, const Property *prop G_GNUC_UNUSED, GString *out,
                                  GError **error G_GNUC_UNUSED)
{
    x86_features_append_words(model_of(object)->types->features, ((X86Cpu *)object)->words, out);
    return TRUE;
}

static gboolean get_filtered_features(Object *object, const Property *prop G_GNUC_UNUSED, GString *out,
                                      GError **error G_GNUC_UNUSED)
{
    x86_features_append_words(model_of(object)->types->features, ((X86Cpu *)object)->filtered, out);
    return TRUE;
}

static gboolean get_unavailable(Object *object, const Property *prop G_GNUC_UNUSED, GString *out,
                                GError **error G_GNUC_UNUSED)
{
    json_append_slice(out, json_member(model_of(object)->definition, "unavailable-features"));
    return TRUE;
}

/* ---- checks, worded as QEMU's; what is no number at all is left to whoever takes the value ---- */

/* Whether it is from 0 to max, or no whole number. */
static gboolean is_at_most(JsonSlice value, gint64 max)
{
    gint64 number;
    guint64 big;

    return json_to_int64(value, &number) ? number >= 0 && number <= max : !json_to_uint64(value, &big);
}

static gboolean check_at_most(Object *object G_GNUC_UNUSED, const Property *prop, JsonSlice value, GError **error)
{
    if (is_at_most(value, prop->max))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE, "parameter '%s' can be at most %" G_GINT64_FORMAT,
                prop->name, prop->max);
    return FALSE;
}

static gboolean check_vendor(Object *object G_GNUC_UNUSED, const Property *prop, JsonSlice value, GError **error)
{
    g_autofree char *text = json_string_dup(value, NULL);

    if (!text || strlen(text) == 12) /* what CPUID has registers for */
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                "value of property '%s' must consist of exactly 12 characters", prop->name);
    return FALSE;
}

static gboolean check_lbr(Object *object G_GNUC_UNUSED, const Property *prop G_GNUC_UNUSED, JsonSlice value,
                          GError **error)
{
    if (is_at_most(value, 0x3f))
        return TRUE;
    g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_BAD_VALUE,
                "Property value for 'lbr-fmt' has bits outside mask '0x3f'");
    return FALSE;
}

/* ---- the rows ---- */

static const char *const on_off_auto[] = {"auto", "on", "off", NULL};

static const Property cpu_props[] = {
    PROP_LINK(X86Cpu, memory, "memory", "memory-region", .flags = PROP_INITIAL, .help = "what it sees as its memory"),
    PROP_CALC("crash-information", "GuestPanicInformation", get_crash, .help = "why the guest crashed"),
    PROP_FIELD(X86Cpu, socket_id, "socket-id", .flags = PROP_INITIAL, .initial = -1),
    PROP_FIELD(X86Cpu, die_id, "die-id", .flags = PROP_INITIAL, .initial = -1),
    PROP_FIELD(X86Cpu, module_id, "module-id", .flags = PROP_INITIAL, .initial = -1),
    PROP_FIELD(X86Cpu, core_id, "core-id", .flags = PROP_INITIAL, .initial = -1),
    PROP_FIELD(X86Cpu, thread_id, "thread-id", .flags = PROP_INITIAL, .initial = -1,
               .help = "its place in its core; not a thread of the host"),
    PROP_FIELD(X86Cpu, node_id, "node-id", .flags = PROP_INITIAL, .initial = -1, .help = "its NUMA node"),
    PROP_FIELD(X86Cpu, apic_id, "apic-id", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, family, "family", .type = "int", .flags = PROP_INITIAL, .set = check_at_most, .max = 0xff + 0xf),
    PROP_FIELD(X86Cpu, model, "model", .type = "int", .flags = PROP_INITIAL, .set = check_at_most, .max = 0xff),
    PROP_FIELD(X86Cpu, stepping, "stepping", .type = "int", .flags = PROP_INITIAL, .set = check_at_most, .max = 0xf),
    PROP_FIELD(X86Cpu, vendor, "vendor", .flags = PROP_INITIAL, .set = check_vendor),
    PROP_FIELD(X86Cpu, model_id, "model-id", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, tsc_frequency, "tsc-frequency", .flags = PROP_INITIAL, .set = check_at_most, .max = G_MAXINT64,
               .help = "in Hz; 0: the host's"),
    PROP_FIELD(X86Cpu, level, "level", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, xlevel, "xlevel", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, xlevel2, "xlevel2", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, min_level, "min-level", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, min_xlevel, "min-xlevel", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, min_xlevel2, "min-xlevel2", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, level_func7, "level-func7", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, avx10_version, "avx10-version", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, phys_bits, "phys-bits", .flags = PROP_INITIAL, .help = "bits of a physical address"),
    PROP_FIELD(X86Cpu, guest_phys_bits, "guest-phys-bits", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, host_phys_bits_limit, "host-phys-bits-limit", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, ucode_rev, "ucode-rev", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, lbr_fmt, "lbr-fmt", .flags = PROP_INITIAL, .set = check_lbr, .initial = -64),
    PROP_FIELD(X86Cpu, lbr_fmt, "lbr_fmt", .flags = PROP_INITIAL, .set = check_lbr, .initial = -64),
    PROP_CALC("feature-words", "X86CPUFeatureWordInfo", get_feature_words, .help = "the features as CPUID has them"),
    PROP_CALC("filtered-features", "X86CPUFeatureWordInfo", get_filtered_features,
              .help = "features of the model that the accelerator lacks"),
    PROP_CALC("unavailable-features", "strList", get_unavailable, .help = "the same by name"),
    PROP_ENUM(X86Cpu, hv_no_nonarch_coresharing, "hv-no-nonarch-coresharing", "OnOffAuto", on_off_auto,
              .flags = PROP_INITIAL, .initial = 2),
    PROP_FIELD(X86Cpu, hv_vendor_id, "hv-vendor-id", .type = "str", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, hv_spinlocks, "hv-spinlocks", .flags = PROP_INITIAL, .initial = G_MAXUINT32),
    PROP_FIELD(X86Cpu, hv_version_id_build, "hv-version-id-build", .flags = PROP_INITIAL, .initial = 14393),
    PROP_FIELD(X86Cpu, hv_version_id_major, "hv-version-id-major", .flags = PROP_INITIAL, .initial = 10),
    PROP_FIELD(X86Cpu, hv_version_id_minor, "hv-version-id-minor", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, hv_version_id_spack, "hv-version-id-spack", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, hv_version_id_sbranch, "hv-version-id-sbranch", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, hv_version_id_snumber, "hv-version-id-snumber", .flags = PROP_INITIAL),
    PROP_FIELD(X86Cpu, x_hv_max_vps, "x-hv-max-vps", .flags = PROP_INITIAL, .initial = -1),
    {0},
};

/* What "max" and "host" have more. */
static const Property host_props[] = {
    PROP_FIELD(X86Cpu, migratable, "migratable", .flags = PROP_INITIAL, .initial = TRUE),
    PROP_FIELD(X86Cpu, host_cache_info, "host-cache-info", .flags = PROP_INITIAL),
    {0},
};

static const ObjectType cpu_type = {
    .name = "cpu", .help = "a processor", .parent = &device_type, .instance_size = sizeof(X86Cpu), .abstract = TRUE};

/* ---- models ---- */

/* Sets what a list of values says in the memory that instances are copied from. */
static void set_values(const Class *class, Object *initial, JsonSlice values)
{
    JsonWalk walk = json_walk(values);
    JsonSlice key, value;

    while (values.length && json_walk_member(&walk, &key, &value)) {
        g_autofree char *name = json_string_dup(key, NULL);
        g_autoptr(GError) error = NULL;
        if (!json_string_is(key, "like") && !class_init_value(class, initial, name, value, &error))
            g_error("vmm/data/cpu-models.json: %s", error->message);
    }
}

/* What the model says, after what the one that it is like says. */
static void set_model_values(const Class *class, Object *initial, JsonSlice values)
{
    g_autofree char *like = values.length ? json_string_dup(json_member(values, "like"), NULL) : NULL;

    if (like)
        set_model_values(class, initial, x86_features_model_values(like));
    set_values(class, initial, values);
}

/* What the definition calls unavailable, which the guest will not see. */
static void note_unavailable(const X86Model *model, X86Cpu *cpu)
{
    JsonWalk walk = json_walk(json_member(model->definition, "unavailable-features"));
    JsonSlice element;

    while (json_walk_element(&walk, &element)) {
        g_autofree char *name = json_string_dup(element, NULL);
        int bit = x86_features_bit(model->types->features, name);
        if (bit >= 0) /* not "kvm" */
            cpu->filtered[bit / 32] |= (uint32_t)1 << (bit % 32);
    }
}

static void model_class_init(const Class *class, Object *initial)
{
    const X86Model *model = class_type(class)->data;

    set_values(class, initial, x86_features_common_values());
    set_values(class, initial, x86_features_further_values());
    set_model_values(class, initial, model_values(model));
    note_unavailable(model, (X86Cpu *)initial);
}

/* "max" has what the accelerator has, "host" what the host has. */
static gboolean is_of_host(const X86Model *model)
{
    return json_string_is(json_member(model->definition, "name"), "max") ||
           json_string_is(json_member(model->definition, "name"), "host");
}

static void add_model(X86CpuTypes *self, Types *types, JsonSlice definition)
{
    X86Model *model = g_new0(X86Model, 1);

    model->types = self;
    model->definition = definition;
    model->type = (ObjectType){
        .name = json_string_dup(json_member(definition, "typename"), NULL),
        .help = "a model of x86 processors",
        .parent = &self->base,
        .class_init = model_class_init,
        .data = model,
    };
    if (is_of_host(model))
        model->type.props = host_props;
    g_ptr_array_add(self->models, model);
    types_add(types, &model->type);
}

static void model_free(gpointer data)
{
    X86Model *model = data;
    g_free((char *)model->type.name);
    g_free(model);
}

X86CpuTypes *x86_cpu_types_new(Types *types)
{
    X86CpuTypes *self = g_new0(X86CpuTypes, 1);
    JsonWalk walk = json_walk(x86_features_definitions());
    const Property end = {0};
    JsonSlice definition;

    self->features = x86_features_new();
    self->models = g_ptr_array_new_with_free_func(model_free);
    self->rows = g_array_new(FALSE, FALSE, sizeof(Property));
    g_array_append_vals(self->rows, cpu_props, G_N_ELEMENTS(cpu_props) - 1);
    x86_features_add_rows(self->features, offsetof(X86Cpu, words), self->rows);
    g_array_append_val(self->rows, end);
    self->base = (ObjectType){
        .name = "x86_64-cpu",
        .help = "an x86 processor",
        .parent = &cpu_type,
        .instance_size = sizeof(X86Cpu),
        .abstract = TRUE,
        .props = (const Property *)(gpointer)self->rows->data,
    };
    types_add(types, &self->base);
    while (json_walk_element(&walk, &definition))
        add_model(self, types, definition);
    return self;
}

void x86_cpu_types_free(X86CpuTypes *self)
{
    if (!self)
        return;
    g_ptr_array_unref(self->models);
    g_array_unref(self->rows);
    x86_features_free(self->features);
    g_free(self);
}

Class *x86_cpu_model_class(const Types *types, const char *model)
{
    g_autofree char *type_name = g_strdup_printf("%s-x86_64-cpu", model);

    return types_find(types, type_name);
}

Class *x86_cpu_class(const Types *types, const char *model, GError **error)
{
    Class *class = x86_cpu_model_class(types, model);

    if (!class) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "there is no CPU model '%s'", model);
        return NULL;
    }
    if (strcmp(model, "host") == 0) {
        g_set_error(error, OBJMODEL_ERROR, OBJMODEL_ERROR_FAILED, "CPU model '%s' requires KVM or HVF", model);
        return NULL;
    }
    return class;
}

/* ---- what follows from what is set ---- */

gboolean x86_cpu_is_static(const char *property)
{
    return json_member(x86_features_common_values(), property).length > 0;
}

static gboolean has(const X86Cpu *cpu, const char *feature)
{
    return x86_features_has(model_of(&cpu->base.base)->types->features, cpu->words, feature);
}

static void give(X86Cpu *cpu, const char *feature)
{
    int bit = x86_features_bit(model_of(&cpu->base.base)->types->features, feature);

    cpu->words[bit / 32] |= (uint32_t)1 << (bit % 32);
}

static gboolean is_of_vendor(const X86Cpu *cpu, const char *vendor)
{
    return cpu->vendor && strcmp(cpu->vendor, vendor) == 0;
}

/* Who did not set a level gets the lowest at which all can be told. */
static void take_level(uint32_t *level, uint32_t *min_level, uint32_t raised)
{
    *min_level = raised;
    if (*level == G_MAXUINT32)
        *level = raised;
}

void x86_cpu_expand(Object *object)
{
    X86Cpu *cpu = (X86Cpu *)object;
    const X86Features *features = model_of(object)->types->features;
    X86Levels levels = {.level = cpu->min_level, .xlevel = cpu->min_xlevel, .xlevel2 = cpu->min_xlevel2};

    x86_features_settle(features, cpu->words);
    x86_features_raise(features, cpu->words, &levels);
    /* The topology of dies and modules, in a leaf that AMD does not have. */
    if (has(cpu, "x-force-cpuid-0x1f") && (is_of_vendor(cpu, "GenuineIntel") || is_of_vendor(cpu, "CentaurHauls")))
        levels.level = MAX(levels.level, 0x1f);
    take_level(&cpu->level, &cpu->min_level, levels.level);
    take_level(&cpu->xlevel, &cpu->min_xlevel, levels.xlevel);
    take_level(&cpu->xlevel2, &cpu->min_xlevel2, levels.xlevel2);
    if (cpu->level_func7 == G_MAXUINT32)
        cpu->level_func7 = levels.func7;
}

/* What a CPU takes when it begins to work, where nobody said it. */
static void fill_in(X86Cpu *cpu)
{
    if (!cpu->phys_bits)
        cpu->phys_bits = has(cpu, "lm") ? 40 : has(cpu, "pae") || has(cpu, "pse36") ? 36 : 32;
    if (cpu->guest_phys_bits == G_MAXUINT32)
        cpu->guest_phys_bits = 0;
    if (!cpu->ucode_rev)
        cpu->ucode_rev = is_of_vendor(cpu, "AuthenticAMD") ? 0x01000065 : G_GUINT64_CONSTANT(0x100000000);
    if (!cpu->hv_vendor_id || !*cpu->hv_vendor_id) {
        g_free(cpu->hv_vendor_id);
        cpu->hv_vendor_id = g_strdup("Microsoft Hv");
    }
    if (is_of_host(model_of(&cpu->base.base)) && !cpu->family) {
        cpu->family = cpu->model = 6;
        cpu->stepping = 3;
    }
}

static void begin(X86Cpu *cpu)
{
    const X86Features *features = model_of(&cpu->base.base)->types->features;

    x86_cpu_expand(&cpu->base.base);
    for (guint i = 0; i < X86_MAX_WORDS; i++) {
        cpu->filtered[i] &= cpu->words[i];
        cpu->words[i] &= ~cpu->filtered[i];
    }
    x86_features_complete(features, cpu->words, is_of_vendor(cpu, "AuthenticAMD"));
    fill_in(cpu);
}

/* ---- CPUs ---- */

/* What an address space needs to tell the CPU's own memory (SMRAM) from the others'. */
static void make_memory(Vm *vm, Object *cpu, gboolean first)
{
    Object *system = vm_part(vm, "system");
    Object *root = memory_region_new(cpu, "memory[*]", NULL, 0, G_MAXUINT64, 0);
    Object *apic;
    g_autofree char *id = g_strdup_printf("%u", ((X86Cpu *)cpu)->apic_id);
    g_autoptr(GError) error = NULL;

    memory_region_new(cpu, "memory[*]", root, 0, G_MAXUINT64, 0);
    memory_region_new(cpu, "smram[*]", root, 0, G_GUINT64_CONSTANT(1) << 32, 1);
    object_set_link(cpu, &((X86Cpu *)cpu)->memory, system);
    if (!has((X86Cpu *)cpu, "apic"))
        return;

    apic = object_new_child(cpu, "lapic", vm_class(vm, "apic"));
    object_assign(apic, "id", id);
    if (!object_complete(apic, &error))
        g_error("%s", error->message);
    if (first) { /* one region serves all */
        Object *msi = object_child(apic, "apic-msi[0]");
        object_assign_link(msi, "container", system);
        object_assign(msi, "addr", "4276092928");
        object_assign(msi, "priority", "4096");
    }
}

/* Bits that number n things. */
static guint width(guint n)
{
    return n > 1 ? g_bit_storage(n - 1) : 0;
}

/* Socket, die, module, core and thread of the CPU with that index, and its APIC id made of them. */
static void place(X86Cpu *cpu, const VmCpus *cpus, guint index)
{
    guint thread = index % cpus->threads, core = index / cpus->threads % cpus->cores;
    guint module = index / cpus->threads / cpus->cores % cpus->modules;
    guint die = index / cpus->threads / cpus->cores / cpus->modules % cpus->dies;
    guint socket = index / cpus->threads / cpus->cores / cpus->modules / cpus->dies;
    guint id = socket;

    id = id << width(cpus->dies) | die;
    id = id << width(cpus->modules) | module;
    id = id << width(cpus->cores) | core;
    id = id << width(cpus->threads) | thread;
    cpu->socket_id = (int32_t)socket;
    cpu->die_id = (int32_t)die;
    cpu->module_id = (int32_t)module;
    cpu->core_id = (int32_t)core;
    cpu->thread_id = (int32_t)thread;
    cpu->apic_id = id;
}

void x86_cpus_make(Vm *vm)
{
    const VmCpus *cpus = &vm_config(vm)->cpus;
    Class *class = x86_cpu_class(vm_types(vm), cpus->model, NULL);

    for (guint i = 0; i < cpus->count; i++) {
        Object *object = object_new_child(vm_unattached(vm), "device[*]", class);
        X86Cpu *cpu = (X86Cpu *)object;
        g_autoptr(GError) error = NULL;

        place(cpu, cpus, i);
        if (cpus->cores * cpus->threads > 1) {
            give(cpu, "ht");
            if (is_of_vendor(cpu, "AuthenticAMD"))
                give(cpu, "cmp-legacy");
        }
        begin(cpu);
        make_memory(vm, object, i == 0);
        if (!object_complete(object, &error))
            g_error("%s", error->message);
        if (i == 0) { /* comes with the first APIC */
            Object *vapic = object_new_child(vm_unattached(vm), "device[*]", vm_class(vm, "kvmvapic"));
            device_set_bus(vapic, vm_part(vm, "sysbus"));
            if (!object_complete(vapic, &error))
                g_error("%s", error->message);
        }
    }
}
