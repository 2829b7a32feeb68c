/* SPDX-License-Identifier: MIT */
/* Argument tables: whatever object comes, it is refused with a reason or fills the struct, and nothing leaks. */
#include <string.h>

#include "fuzz.h"
#include "qmp/args.h"

static const QmpType colour = {.meta = QMP_ENUM, .values = (const char *const[]){"red", "green", NULL}};
static QMP_LIST_OF(objects, qmp_empty);

typedef struct Args {
    char *string;
    gboolean flag;
    gint64 number, small;
    int colour;
    char **strings;
    JsonSlice any, objects, object;
} Args;

static const QmpArg table[] = {
    QMP_ARG(Args, string, "string", qmp_str),
    QMP_ARG(Args, flag, "flag", qmp_bool, .optional = TRUE),
    QMP_ARG(Args, number, "number", qmp_int, .optional = TRUE),
    QMP_ARG(Args, small, "small", qmp_int, .optional = TRUE, .min = 1, .max = 3, .otherwise = 2),
    QMP_ARG(Args, colour, "colour", colour, .optional = TRUE, .otherwise = 1),
    QMP_ARG(Args, strings, "strings", qmp_str_list, .optional = TRUE),
    QMP_ARG(Args, any, "any", qmp_any, .optional = TRUE),
    QMP_ARG(Args, objects, "objects", objects, .optional = TRUE),
    QMP_ARG(Args, object, "object", qmp_empty, .optional = TRUE),
    {0},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JsonSlice object;
    g_autofree char *text = json_compact((const char *)data, size, JSON_READER_QMP, &object.length, NULL);

    object.text = text;
    if (text == NULL || json_kind(object) != JSON_OBJECT) {
        return 0;
    }
    for (int open = 0; open < 2; open++) {
        g_autoptr(GError) error = NULL;
        Args args = {0};

        if (qmp_args_fill(table, object, open, &args, &error)) {
            g_assert_no_error(error);
            g_assert_nonnull(args.string);
            g_assert_true(args.small >= 1 && args.small <= 3);
            g_assert_true(args.colour == 0 || args.colour == 1);
            g_assert_true(args.object.length == 0 || json_kind(args.object) == JSON_OBJECT);
            g_assert_true(args.objects.length == 0 || json_kind(args.objects) == JSON_ARRAY);
            qmp_args_clear(table, &args);
        } else {
            g_assert_nonnull(error);
        }
        g_assert_null(args.string);
        g_assert_null(args.strings);
    }
    return 0;
}
