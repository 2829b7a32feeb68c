/* SPDX-License-Identifier: MIT */
/* The clock of the board. It shows the second that it was told last, so that all who see it see one time. */
#include "vmm/rtc.h"

#include <time.h>

#include "vmm/device.h"
#include "vmm/types.h"

typedef struct Rtc {
    Device base;
    gint64 seconds;
} Rtc;

static gboolean get_date(Object *object, const Property *prop G_GNUC_UNUSED, GString *out, GError **error G_GNUC_UNUSED)
{
    time_t seconds = (time_t)((Rtc *)object)->seconds;
    struct tm tm;

    gmtime_r(&seconds, &tm);
    g_string_append_printf(out,
                           "{\"tm_year\":%d,\"tm_sec\":%d,\"tm_hour\":%d,\"tm_min\":%d,\"tm_mon\":%d,\"tm_mday\":%d}",
                           tm.tm_year, tm.tm_sec, tm.tm_hour, tm.tm_min, tm.tm_mon, tm.tm_mday);
    return TRUE;
}

static const Property rtc_props[] = {
    PROP_CALC("date", "struct tm", get_date, .help = "the time that the guest reads"),
    {0},
};

const ObjectType mc146818rtc_type = {
    .name = "mc146818rtc",
    .help = "the clock of the board",
    .parent = &device_type,
    .instance_size = sizeof(Rtc),
    .props = rtc_props,
};

void rtc_set(Object *object, gint64 seconds)
{
    Rtc *rtc = (Rtc *)object;
    if (rtc->seconds == seconds)
        return;
    rtc->seconds = seconds;
    object_changed(object);
}
